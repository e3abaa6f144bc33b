// Token by token, as the rule is written.
#include <cmath>
#include <utility>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

struct Run {
  std::vector<double> values;  // of the output
  std::vector<double> state;   // after it
};

Run run(Inputs inputs) {
  const Array &q = *inputs[0], &k = *inputs[1], &v = *inputs[2], &g = *inputs[3], &beta = *inputs[4];
  const Shape& state = inputs[5]->shape;
  const auto heads = static_cast<size_t>(state[2]), keys = static_cast<size_t>(state[3]),
             width = static_cast<size_t>(state[4]), length = static_cast<size_t>(q.shape[1]);
  const size_t key_heads = static_cast<size_t>(q.shape[2]) / keys;
  Run out{std::vector<double>(v.values.size()), inputs[5]->values};
  const size_t half = out.state.size() / 2;  // what rounding left, of which there is none in double
  for (size_t i = 0; i < half; ++i) out.state[i] += std::exchange(out.state[half + i], 0);
  for (size_t n = 0; n < static_cast<size_t>(state[1]); ++n) {
    for (size_t head = 0; head < heads; ++head) {
      double* matrix = &out.state[(n * heads + head) * keys * width];
      for (size_t t = n * length; t < (n + 1) * length; ++t) {
        const size_t key_head = (t * key_heads + head / (heads / key_heads)) * keys;
        const size_t value_head = (t * heads + head) * width;
        for (size_t i = 0; i < keys * width; ++i) matrix[i] *= std::exp(g.values[t * heads + head]);
        for (size_t e = 0; e < width; ++e) {
          double known = 0;
          for (size_t d = 0; d < keys; ++d) known += k.values[key_head + d] * matrix[d * width + e];
          const double missed = beta.values[t * heads + head] * (v.values[value_head + e] - known);
          for (size_t d = 0; d < keys; ++d) {
            matrix[d * width + e] += k.values[key_head + d] * missed;
            out.values[value_head + e] += q.values[key_head + d] * matrix[d * width + e];
          }
        }
      }
    }
  }
  return out;
}

}  // namespace

void gated_delta_rule(const fbs::Operator&, Inputs inputs, Array& output) { output.values = run(inputs).values; }

std::vector<double> matrices_after(Inputs inputs) { return run(inputs).state; }

}  // namespace ferry::reference
