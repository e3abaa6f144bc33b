#include <algorithm>
#include <cmath>
#include <limits>

#include "sdk/reference/ops.h"

namespace ferry::reference {

void attention(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Attention& p = *op.params_as_Attention();
  const Array &q = *inputs[0], &k = *inputs[1], &v = *inputs[2];
  const double scale = static_cast<double>(p.scale()), cap = static_cast<double>(p.softcap());
  const bool causal = p.causal(), sinks = p.sinks();
  const int64_t window = p.window();
  const Inputs biases = inputs.subspan(3, inputs.size() - 3 - (sinks ? 1 : 0));
  const int64_t keys = k.shape[1], shared = p.heads() / p.kv_heads();
  const int64_t key_size = q.shape[2] / p.heads(), value_size = v.shape[2] / p.kv_heads();
  std::vector<double> row(static_cast<size_t>(keys)), sums(static_cast<size_t>(value_size));
  for_each_element({q.shape[0], p.heads(), q.shape[1]}, [&](size_t, const Coordinates& at) {
    const int64_t n = at[0], head = at[1], l = at[2];
    const double* query = &q.values[index_of(q.shape, {n, l, head * key_size})];
    for (int64_t s = 0; s < keys; ++s) {
      const double* key = &k.values[index_of(k.shape, {n, s, head / shared * key_size})];
      double score = 0;
      for (int64_t d = 0; d < key_size; ++d) score += query[d] * key[d];
      score *= scale;
      if (cap > 0) score = cap * std::tanh(score / cap);
      for (const Array* bias : biases) {
        const Shape& b = bias->shape;
        score += bias->values[index_of(b, {n % b[0], head % b[1], l % b[2], s})];
      }
      const int64_t last = keys - q.shape[1] + l;  // that the query sees
      const bool hidden = causal && (s > last || (window > 0 && s <= last - window));
      row[static_cast<size_t>(s)] = hidden ? -std::numeric_limits<double>::infinity() : score;
    }
    double maximum = *std::max_element(row.begin(), row.end()), sum = 0;
    if (sinks) {
      const double sink = inputs.back()->values[static_cast<size_t>(head)];
      maximum = std::max(maximum, sink);
      sum = std::exp(sink - maximum);
    }
    for (double& score : row) sum += score = std::exp(score - maximum);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int64_t s = 0; s < keys; ++s) {
      const double* value = &v.values[index_of(v.shape, {n, s, head / shared * value_size})];
      for (size_t d = 0; d < sums.size(); ++d) sums[d] += row[static_cast<size_t>(s)] * value[d];
    }
    double* result = &output.values[index_of(output.shape, {n, l, head * value_size})];
    for (size_t d = 0; d < sums.size(); ++d) result[d] = sums[d] / sum;
  });
}

}  // namespace ferry::reference
