// Exceptions pass through the library as it ships, whose tables for unwinding cover only the functions that they can
// pass through (cmake/sdk.cmake): one allocation after another fails, and every call returns FERRY_OUT_OF_MEMORY
// instead of ending the process. tests/memory tests more, on the host.
//
//     out_of_memory BLOB...
#include <ferry/ferry.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr long kNever = -1;
std::atomic<long> until_failure{kNever};  // allocations
std::atomic<bool> failed{false};

void* allocate(size_t bytes) {
  const long left = until_failure.load();
  if (left > 0) until_failure = left - 1;
  void* memory = left == 0 ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (memory != nullptr) return memory;
  failed = true;
  throw std::bad_alloc();
}

ferry_status open_and_run(const char* path) {
  ferry_model* model = nullptr;
  ferry_session* session = nullptr;
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = 1;
  ferry_status status = ferry_model_open(path, &model);
  if (status == FERRY_OK) status = ferry_session_create(model, &options, &session);
  if (status == FERRY_OK) status = ferry_session_run(session);
  until_failure = kNever;
  ferry_session_close(session);
  ferry_model_close(model);
  return status;
}

// From allocation `index` on, all fail. Returns whether the calls end as they should; *done: they allocate less.
bool fails_with_a_status(const char* path, long index, bool* done) {
  until_failure = index;
  failed = false;
  const ferry_status status = open_and_run(path);
  *done = !failed;
  if (status == (failed ? FERRY_OUT_OF_MEMORY : FERRY_OK)) return true;
  std::fprintf(stderr, "%s: with %ld allocations, status %d: %s\n", path, index, status, ferry_last_error());
  return false;
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    long failures = 0;
    bool done = false;
    for (long index = 0; !done; index += 1 + index / 40, ++failures)
      if (!fails_with_a_status(argv[i], index, &done)) return 1;
    std::printf("%s: %ld failures\n", argv[i], failures - 1);
    if (failures < 50) return std::fprintf(stderr, "%s: allocations of the library were expected\n", argv[i]), 1;
  }
  return 0;
}
