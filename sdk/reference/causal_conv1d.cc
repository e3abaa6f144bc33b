#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

// Token `t` of sample `n`, where those before x are the state's last.
const double* token(Inputs inputs, size_t n, int64_t t) {
  const Array &x = *inputs.front(), &held = *inputs.back();
  const Array& from = t >= 0 ? x : held;
  const int64_t row = t >= 0 ? t : held.shape[1] + t;
  return &from.values[(n * static_cast<size_t>(from.shape[1]) + static_cast<size_t>(row)) *
                      static_cast<size_t>(x.shape[2])];
}

}  // namespace

void causal_conv1d(const fbs::Operator&, Inputs inputs, Array& output) {
  const Array& weight = *inputs[1];
  const auto channels = static_cast<size_t>(weight.shape[1]);
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    const auto channel = static_cast<size_t>(at[2]);
    double sum = inputs.size() > 3 ? inputs[2]->values[channel] : 0;
    for (int k = 0; k < weight.shape[0]; ++k)
      sum += weight.values[static_cast<size_t>(k) * channels + channel] *
             token(inputs, static_cast<size_t>(at[0]), at[1] - (weight.shape[0] - 1) + k)[channel];
    output.values[index] = sum;
  });
}

std::vector<double> inputs_after(Inputs inputs) {
  const Shape &x = inputs.front()->shape, &held = inputs.back()->shape;
  std::vector<double> out;
  for (int n = 0; n < x[0]; ++n) {
    for (int row = 0; row < held[1]; ++row) {
      const double* values = token(inputs, static_cast<size_t>(n), x[1] - held[1] + row);
      out.insert(out.end(), values, values + x[2]);
    }
  }
  return out;
}

}  // namespace ferry::reference
