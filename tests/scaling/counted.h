// Work of a run, counted twice: allocations, and the steps of code that scans without allocating.
#pragma once

#include <cstddef>
#include <functional>

namespace ferry {

// Expects of both counts that they double with the input (tests/support/work.h): prepare(n) returns the run for n
// parts. Steps are basic blocks that were executed. They are counted where the libraries under test are compiled for it
// (CMakeLists.txt); elsewhere only allocations are.
void expect_linear_work(const char* name, size_t n, const std::function<std::function<void()>(size_t)>& prepare);

}  // namespace ferry
