// A network with a loop in a loop.
#pragma once

#include <memory>

#include "converter/graph/graph.h"

namespace ferry::testing {

// x [5,4], count Int32 [1] -> the number of steps, two states [4] after them, and a row of every step [5,4]. Each step
// reads its row of x, an inner loop of three steps decays the sum, and the states change places. The loop also ends
// once a sum is above 6.
std::unique_ptr<Graph> loop_network();

}  // namespace ferry::testing
