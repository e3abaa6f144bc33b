#include "tests/scaling/counted.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/work.h"

namespace {

uint64_t steps = 0;

}  // namespace

// Called by every basic block that gcc compiles with -fsanitize-coverage=trace-pc.
extern "C" void __sanitizer_cov_trace_pc();
extern "C" void __sanitizer_cov_trace_pc() { ++steps; }

namespace ferry {

void expect_linear_work(const char* name, size_t n, const std::function<std::function<void()>(size_t)>& prepare) {
  expect_linear((std::string(name) + ": allocations").c_str(), n,
                [&](size_t size) { return allocations_of(prepare(size)); });
#if defined(FERRY_COUNTS_STEPS)
  expect_linear((std::string(name) + ": steps").c_str(), n, [&](size_t size) {
    const std::function<void()> run = prepare(size);
    const uint64_t before = steps;
    run();
    return steps - before;
  });
#endif
}

}  // namespace ferry
