#include <algorithm>
#include <cmath>
#include <numeric>

#include "sdk/reference/ops.h"

namespace ferry::reference {

void top_k(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::TopK& p = *op.params_as_TopK();
  const size_t row = static_cast<size_t>(inputs[0]->shape[inputs[0]->shape.rank - 1]), k = static_cast<size_t>(p.k());
  std::vector<size_t> order(row);
  for (size_t r = 0; r < inputs[0]->values.size() / row; ++r) {
    const double* x = inputs[0]->values.data() + r * row;
    const auto larger = [x](size_t a, size_t b) { return std::isnan(x[a]) ? !std::isnan(x[b]) : x[a] > x[b]; };
    const auto better = [&](size_t a, size_t b) {
      if (larger(a, b) || larger(b, a)) return larger(a, b) != p.smallest();
      return p.later() ? a > b : a < b;
    };
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), better);
    for (size_t i = 0; i < k; ++i) output.values[r * k + i] = static_cast<double>(order[i]);
  }
}

std::vector<double> values_at(const Array& x, const Array& positions) {
  std::vector<double> values;
  const size_t k = static_cast<size_t>(positions.shape[positions.shape.rank - 1]);
  const size_t row = static_cast<size_t>(x.shape[x.shape.rank - 1]);
  for (size_t i = 0; i < positions.values.size(); ++i)
    values.push_back(x.values[i / k * row + static_cast<size_t>(positions.values[i])]);
  return values;
}

}  // namespace ferry::reference
