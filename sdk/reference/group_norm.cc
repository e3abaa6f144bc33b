#include <cmath>

#include "sdk/reference/ops.h"

namespace ferry::reference {

void group_norm(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::GroupNorm& p = *op.params_as_GroupNorm();
  const std::vector<double>&x = inputs[0]->values, &weight = inputs[1]->values, &bias = inputs[2]->values;
  const size_t channels = weight.size(), width = channels / static_cast<size_t>(p.groups());
  const size_t sample = x.size() / static_cast<size_t>(inputs[0]->shape[0]);
  for (size_t n = 0; n < x.size(); n += sample) {
    for (size_t first = 0; first < channels; first += width) {
      const auto for_each = [&](const auto& visit) {
        for (size_t pixel = n; pixel < n + sample; pixel += channels)
          for (size_t c = first; c < first + width; ++c) visit(pixel + c, c);
      };
      const double count = static_cast<double>(sample / channels * width);
      double mean = 0, variance = 0;
      for_each([&](size_t i, size_t) { mean += x[i] / count; });
      for_each([&](size_t i, size_t) { variance += (x[i] - mean) * (x[i] - mean) / count; });
      const double scale = 1 / std::sqrt(variance + static_cast<double>(p.epsilon()));
      for_each([&](size_t i, size_t c) { output.values[i] = (x[i] - mean) * scale * weight[c] + bias[c]; });
    }
  }
}

}  // namespace ferry::reference
