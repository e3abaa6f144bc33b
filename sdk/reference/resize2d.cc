#include <algorithm>
#include <array>
#include <cmath>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

struct Tap {
  int64_t cell;
  double weight;
};
using Taps = std::array<Tap, 4>;

// Keys 1981, a = -0.75: the weight of a cell at a distance below 2.
double cubic(double distance) {
  constexpr double a = -0.75;
  const double d = std::fabs(distance);
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

// The cells along one side that output cell `i` is made of.
Taps taps(fbs::ResizeKind kind, bool align_corners, int64_t i, int64_t from, int64_t to) {
  if (kind == fbs::ResizeKind::Nearest) return {{{i * from / to, 1.0}}};
  double centre = align_corners
                      ? static_cast<double>(i * (from - 1)) / static_cast<double>(std::max<int64_t>(to - 1, 1))
                      : (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
  if (kind == fbs::ResizeKind::Bilinear) centre = std::max(centre, 0.0);
  const double first = std::floor(centre), fraction = centre - first;
  const auto cell = [&](int64_t offset) {
    return std::clamp<int64_t>(static_cast<int64_t>(first) + offset, 0, from - 1);
  };
  if (kind == fbs::ResizeKind::Bilinear) return {{{cell(0), 1 - fraction}, {cell(1), fraction}}};
  Taps all;
  for (int64_t k = 0; k < 4; ++k)
    all[static_cast<size_t>(k)] = {cell(k - 1), cubic(fraction - static_cast<double>(k - 1))};
  return all;
}

}  // namespace

void resize2d(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::ResizeKind kind = op.params_as_Resize2d()->kind();
  const bool corners = op.params_as_Resize2d()->align_corners();
  const Shape& from = inputs[0]->shape;
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    for (const Tap& y : taps(kind, corners, at[1], from[1], output.shape[1]))
      for (const Tap& x : taps(kind, corners, at[2], from[2], output.shape[2]))
        output.values[index] += y.weight * x.weight * inputs[0]->values[index_of(from, {at[0], y.cell, x.cell, at[3]})];
  });
}

}  // namespace ferry::reference
