// Memory that runs out on demand: every allocation of this program's objects, the library's and XNNPACK's among them,
// goes through failing.cc (the linker's --wrap, see cmake/tests.cmake). A driver's own allocations are its own.
#pragma once

#include <cstddef>

namespace ferry::testing {

enum class Failure { Single, ForGood };

// From now on, allocation number `index` (counted from 0) fails, and with ForGood all after it.
void fail_allocation(long index, Failure failure);
// No more. Gives how many have failed.
long stop_failing();

// Allocations that have not been freed.
long live_allocations();

// Bytes of the largest allocation since the last call.
size_t largest_allocation();

}  // namespace ferry::testing
