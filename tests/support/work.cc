#include "tests/support/work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#if defined(FERRY_SANITIZED)
#include <sanitizer/allocator_interface.h>
#endif

namespace {

std::atomic<uint64_t> work{0};

void count(size_t size) { work.fetch_add(1 + size / 64, std::memory_order_relaxed); }

#if defined(FERRY_SANITIZED)  // a sanitizer has its own allocator, and calls back
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t size) { count(size); }, [](const volatile void*) {});
#else
void* counted(size_t size) {
  count(size);
  void* memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
#endif

}  // namespace

#if !defined(FERRY_SANITIZED)
// Aligned and non-throwing forms keep the library's.
void* operator new(size_t size) { return counted(size); }
void* operator new[](size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
#endif

namespace ferry {

uint64_t allocations_of(const std::function<void()>& run) {
  const uint64_t before = work;
  run();
  return work - before;
}

void expect_linear(const char* name, size_t n, const std::function<uint64_t(size_t)>& measured) {
  measured(n);  // what is made once
  const auto once = static_cast<double>(measured(n)), twice = static_cast<double>(measured(2 * n)),
             fourfold = static_cast<double>(measured(4 * n));
  ASSERT_GT(once, 0) << name;
  EXPECT_GT(fourfold, 2 * once) << name << " does not depend on n";
  EXPECT_LT(twice, 2.2 * once) << name;
  EXPECT_LT(fourfold, 2.2 * twice) << name;
}

}  // namespace ferry
