// Simulates out-of-memory. Every allocation of this program's objects, including the library's and XNNPACK's, goes
// through failing.cc (the linker's --wrap, see cmake/tests.cmake). Drivers' own allocations do not.
#pragma once

#include <cstddef>

namespace ferry::testing {

enum class Failure { Single, ForGood };

// Makes allocation number `index` (counted from 0) fail, and with ForGood all after it.
void fail_allocation(long index, Failure failure);
// Ends this; returns the number of failures.
long stop_failing();

// Allocations that have not been freed.
long live_allocations();

// Size in bytes of the largest allocation since the last call.
size_t largest_allocation();

}  // namespace ferry::testing
