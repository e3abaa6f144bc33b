#include <cmath>

#include "sdk/reference/ops.h"

namespace ferry::reference {

void grn(const fbs::Operator& op, Inputs inputs, Array& output) {
  const std::vector<double>&x = inputs[0]->values, &weight = inputs[1]->values, &bias = inputs[2]->values;
  const size_t channels = weight.size(), sample = x.size() / static_cast<size_t>(inputs[0]->shape[0]);
  for (size_t n = 0; n < x.size(); n += sample) {
    std::vector<double> norm(channels);
    for (size_t i = n; i < n + sample; ++i) norm[i % channels] += x[i] * x[i];
    double mean = 0;
    for (double& g : norm) mean += (g = std::sqrt(g)) / static_cast<double>(channels);
    mean += static_cast<double>(op.params_as_Grn()->epsilon());
    for (size_t i = n; i < n + sample; ++i) {
      const size_t c = i % channels;
      output.values[i] = x[i] + weight[c] * x[i] * norm[c] / mean + bias[c];
    }
  }
}

}  // namespace ferry::reference
