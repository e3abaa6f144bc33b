#include <cmath>

#include "sdk/reference/ops.h"

namespace ferry::reference {

void layer_norm(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::LayerNorm& params = *op.params_as_LayerNorm();
  const double epsilon = static_cast<double>(params.epsilon());
  const std::vector<double>&x = inputs[0]->values, &weight = inputs[1]->values, &bias = inputs[2]->values;
  const size_t channels = weight.size();
  for (size_t row = 0; row < x.size(); row += channels) {
    double mean = 0, variance = 0;
    for (size_t c = 0; c < channels && params.centered(); ++c) mean += x[row + c];
    mean /= static_cast<double>(channels);
    for (size_t c = 0; c < channels; ++c) variance += (x[row + c] - mean) * (x[row + c] - mean);
    variance /= static_cast<double>(channels);
    for (size_t c = 0; c < channels; ++c)
      output.values[row + c] = (x[row + c] - mean) / std::sqrt(variance + epsilon) * weight[c] + bias[c];
  }
}

}  // namespace ferry::reference
