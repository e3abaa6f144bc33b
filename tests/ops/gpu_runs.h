// Runs one operator's blob on the GPUs under test.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "converter/reference/reference.h"
#include "sdk/graph/session.h"
#include "sdk/model/model.h"

namespace ferry::testing {

// The bound of float16: mean squared error over the mean square of `expected`. Differences up to 2^-25, half the
// smallest float16, do not count.
inline constexpr double kFloat16Bound = 1e-5;
double normalised_squared_error(const std::vector<double>& got, const std::vector<double>& expected);

// A session of the blob on a GPU. Later ones share its device and pipelines.
Status session_on_gpu(const std::shared_ptr<Model>& model, const std::string& gpu, ferry_precision precision,
                      std::unique_ptr<Session>* out);

// On every GPU under test, runs the blob twice, and after a resize and back. Expects the same bits each time, the
// operator on the CPU or not as stated, and values within `bound` of `expected`: by normalised_error in float32, by
// normalised_squared_error in float16. `inputs`: the values of the graph's inputs, in order.
void expect_on_gpus(const std::shared_ptr<Model>& model, const std::vector<std::vector<float>>& inputs,
                    const reference::Array& expected, ferry_precision precision, double bound, bool left_to_cpu);

}  // namespace ferry::testing
