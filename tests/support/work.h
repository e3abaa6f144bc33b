// Counts the work of a reader without a clock, so that tests can hold it to grow with its input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ferry {

// Calls of operator new of this program while `run` runs, and a share of their bytes. Programs that use it have an
// operator new of their own.
uint64_t allocations_of(const std::function<void()>& run);

// Expects that the work for n, 2n and 4n parts doubles each time, with a tenth to spare: work that is n log n fits, n^2
// does not.
void expect_linear(const char* name, size_t n, const std::function<uint64_t(size_t)>& work);

}  // namespace ferry
