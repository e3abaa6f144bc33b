// Runs one operator's blob on the GPUs under test.
#pragma once

#include <memory>
#include <vector>

#include "converter/reference/reference.h"
#include "sdk/graph/session_options.h"
#include "sdk/model/model.h"

namespace ferry::testing {

// Mean squared error over the mean square of `expected`: what half precision is held to. Half the distance of the
// numbers next to zero in half precision, 2^-25, is no error.
inline constexpr double kFloat16Bound = 1e-5;
double normalised_squared_error(const std::vector<double>& got, const std::vector<double>& expected);

// On every GPU under test: runs the blob twice, and after a resize and back; expects the same bits each time, the
// operator left to the CPU or not, and values within `bound` of `expected`: normalised_error in float32,
// normalised_squared_error in half. `inputs`: the values of the graph's inputs, in order.
void expect_on_gpus(const std::shared_ptr<Model>& model, const std::vector<std::vector<float>>& inputs,
                    const reference::Array& expected, ferry_precision precision, double bound, bool left_to_cpu);

}  // namespace ferry::testing
