#include "sdk/attempt.h"

#include <exception>

namespace ferry {

Status attempt(AttemptedCall call, const void* context) {
#if defined(__cpp_exceptions)
  try {
    return call(context);
  } catch (const std::exception&) {  // bad_alloc; length_error; system_error for want of a mutex or a thread
    return Status::out_of_memory();
  }
#else  // FERRY_EXCEPTIONS=OFF: the process ends where memory does
  return call(context);
#endif
}

}  // namespace ferry
