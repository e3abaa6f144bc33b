#include <algorithm>
#include <cmath>
#include <numbers>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

double joined(const fbs::Experts& p, double gate, double up) {
  switch (p.activation()) {
    case fbs::ExpertsActivation::Silu: return gate / (1 + std::exp(-gate)) * up;
    case fbs::ExpertsActivation::GeluTanh:
      return 0.5 * gate * up *
             (1 + std::tanh(std::numbers::inv_sqrtpi * std::numbers::sqrt2 * (gate + 0.044715 * gate * gate * gate)));
    case fbs::ExpertsActivation::ClampedSwish: {
      const double x = std::min(gate, static_cast<double>(p.limit()));
      return x / (1 + std::exp(-static_cast<double>(p.alpha()) * x)) * (clamp(up, -p.limit(), p.limit()) + 1);
    }
  }
  return 0;
}

}  // namespace

void experts(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Experts& p = *op.params_as_Experts();
  const Array &x = *inputs[0], &chosen = *inputs[1], &shares = *inputs[2], &down = *inputs[4];
  const int64_t channels = down.shape[1], width = down.shape[2];
  const auto each = static_cast<size_t>(chosen.shape[chosen.shape.rank - 1]);
  // The sum over `count` of a row's elements times those of row `at` of a stack, and its bias.
  const auto product = [&](const double* row, size_t weight, int64_t expert, int64_t at) {
    const Array& stack = *inputs[weight];
    double sum = inputs.size() > 5 ? inputs[weight + 2]->values[index_of(inputs[weight + 2]->shape, {expert, at})] : 0;
    const double* weights = &stack.values[index_of(stack.shape, {expert, at, 0})];
    for (int64_t i = 0; i < stack.shape[2]; ++i) sum += row[i] * weights[i];
    return sum;
  };
  std::vector<double> hidden(static_cast<size_t>(width));
  for (size_t i = 0; i < chosen.values.size(); ++i) {
    const auto expert = static_cast<int64_t>(chosen.values[i]);
    const auto token = static_cast<int64_t>(i / each);
    const double* row = x.values.data() + token * channels;
    for (int64_t h = 0; h < width; ++h)
      hidden[static_cast<size_t>(h)] = joined(p, product(row, 3, expert, h), product(row, 3, expert, width + h));
    for (int64_t c = 0; c < channels; ++c)
      output.values[static_cast<size_t>(token * channels + c)] +=
          shares.values[i] * product(hidden.data(), 4, expert, c);
  }
}

}  // namespace ferry::reference
