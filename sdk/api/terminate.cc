// libc++abi's terminate handler prints the exception's type in C++ syntax. The demangler for that is 130 KB of each
// Android library, which links libc++abi statically, and no exception leaves the library (sdk/attempt.h). With this
// function in its place the type is printed as the compiler encodes it.
#if defined(__ANDROID__)
#include <cstddef>

extern "C" [[gnu::visibility("hidden")]] char* __cxa_demangle(const char*, char*, size_t*, int* status) {
  constexpr int kInvalidName = -2;
  if (status != nullptr) *status = kInvalidName;
  return nullptr;
}
#endif
