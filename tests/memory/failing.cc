#include "tests/memory/failing.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace ferry::testing {
namespace {

constexpr long kNever = -1;
std::atomic<long> live{0}, until_failure{kNever}, failed{0};
std::atomic<bool> for_good{false};
std::atomic<size_t> largest{0};

// Counts down; the allocation that finds 0 fails.
bool fails() {
  long left = until_failure.load();
  while (left > 0 && !until_failure.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 0) return false;
  if (!for_good) until_failure = kNever;
  ++failed;
  errno = ENOMEM;
  return true;
}

void* counted(void* memory, size_t size) {
  if (memory != nullptr) ++live;
  size_t before = largest.load();
  while (size > before && !largest.compare_exchange_weak(before, size)) {
  }
  return memory;
}

}  // namespace

void fail_allocation(long index, Failure failure) {
  failed = 0;
  for_good = failure == Failure::ForGood;
  until_failure = index;
}

long stop_failing() {
  until_failure = kNever;
  return failed;
}

long live_allocations() { return live; }

size_t largest_allocation() { return largest.exchange(0); }

extern "C" {

// operator new is malloc here, but not where other libraries inline it; AddressSanitizer would report a mismatch.
const char* __asan_default_options() { return "alloc_dealloc_mismatch=0"; }

void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* memory, size_t size);
void __real_free(void* memory);
int __real_posix_memalign(void** memory, size_t alignment, size_t size);
void* __real_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void* address, size_t size);

void* __wrap_malloc(size_t size) { return fails() ? nullptr : counted(__real_malloc(size), size); }
void* __wrap_calloc(size_t count, size_t size) {
  return fails() ? nullptr : counted(__real_calloc(count, size), count * size);
}
void* __wrap_realloc(void* memory, size_t size) {
  if (fails()) return nullptr;
  void* grown = __real_realloc(memory, size);
  return memory == nullptr ? counted(grown, size) : grown;
}
void __wrap_free(void* memory) {
  if (memory != nullptr) --live;
  __real_free(memory);
}
int __wrap_posix_memalign(void** memory, size_t alignment, size_t size) {
  if (fails()) return ENOMEM;
  const int result = __real_posix_memalign(memory, alignment, size);
  if (result == 0) counted(*memory, size);
  return result;
}
void* __wrap_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  if (fails()) return MAP_FAILED;
  void* mapped = __real_mmap(address, size, protection, flags, fd, offset);
  if (mapped != MAP_FAILED) ++live;
  return mapped;
}
int __wrap_munmap(void* address, size_t size) {
  --live;
  return __real_munmap(address, size);
}

// operator new and delete, in all forms that this program uses
void* __wrap__Znwm(size_t size) {
  if (void* memory = __wrap_malloc(size)) return memory;
  throw std::bad_alloc();
}
void* __wrap__Znam(size_t size) { return __wrap__Znwm(size); }
void* __wrap__ZnwmRKSt9nothrow_t(size_t size, const std::nothrow_t&) { return __wrap_malloc(size); }
void* __wrap__ZnamRKSt9nothrow_t(size_t size, const std::nothrow_t&) { return __wrap_malloc(size); }
void* __wrap__ZnwmSt11align_val_t(size_t size, std::align_val_t alignment) {
  void* memory = nullptr;
  if (__wrap_posix_memalign(&memory, static_cast<size_t>(alignment), size) == 0) return memory;
  throw std::bad_alloc();
}
void* __wrap__ZnwmSt11align_val_tRKSt9nothrow_t(size_t size, std::align_val_t alignment, const std::nothrow_t&) {
  void* memory = nullptr;
  return __wrap_posix_memalign(&memory, static_cast<size_t>(alignment), size) == 0 ? memory : nullptr;
}
void __wrap__ZdlPv(void* memory) { __wrap_free(memory); }
void __wrap__ZdaPv(void* memory) { __wrap_free(memory); }
void __wrap__ZdlPvm(void* memory, size_t) { __wrap_free(memory); }
void __wrap__ZdaPvm(void* memory, size_t) { __wrap_free(memory); }
void __wrap__ZdlPvSt11align_val_t(void* memory, std::align_val_t) { __wrap_free(memory); }
void __wrap__ZdlPvmSt11align_val_t(void* memory, size_t, std::align_val_t) { __wrap_free(memory); }

}  // extern "C"

}  // namespace ferry::testing
