// Resizing. Ferry's operator has the positions of half_pixel_centers and align_corners (bilinear), and the default ones
// (nearest); others are gathered.
#include <algorithm>
#include <cmath>

#include "converter/tflite/ops/ops.h"
#include "converter/tflite/ops/window.h"

namespace ferry::tflite {
namespace {

struct Side {
  int32_t from = 1, to = 1;
  bool corners = false, half_pixels = false;

  // As the interpreter computes it, in float32.
  float scale() const {
    if (corners && to > 1) return static_cast<float>(from - 1) / static_cast<float>(to - 1);
    return static_cast<float>(from) / static_cast<float>(to);
  }
};

template <typename Options>
std::vector<Side> sides_of(const Op& op, const Options& o) {
  const Shape x = map_shape(op, 0);
  const std::vector<int64_t> to = op.integers(1, "the size");
  if (to.size() != 2) op.refuse("%zu sizes, expected 2", to.size());
  if (o.align_corners() && o.half_pixel_centers()) op.refuse("it has both align_corners and half_pixel_centers");
  std::vector<Side> sides;
  for (int i = 0; i < 2; ++i) {
    const int64_t size = to[static_cast<size_t>(i)];
    if (size < 1 || size > 1 << 15) op.refuse("a side becomes %lld", static_cast<long long>(size));
    sides.push_back({x[i + 1], static_cast<int32_t>(size), o.align_corners(), o.half_pixel_centers()});
  }
  return sides;
}

int32_t nearest_cell(const Side& s, int64_t i) {
  const float at = (static_cast<float>(i) + (s.half_pixels ? 0.5f : 0.0f)) * s.scale();
  return std::clamp(static_cast<int32_t>(s.corners ? std::round(at) : std::floor(at)), 0, s.from - 1);
}

// Linear interpolation along an axis at positions i * scale.
Tensor interpolated(const Op& op, Tensor x, int axis, const Side& s) {
  if (s.from == s.to) return x;
  const auto position = [&](int64_t i) { return static_cast<float>(i) * s.scale(); };
  const auto cell = [&](int64_t i) { return std::min(static_cast<int32_t>(position(i)), s.from - 1); };
  std::vector<float> shares;
  for (int32_t i = 0; i < s.to; ++i) shares.push_back(position(i) - static_cast<float>(cell(i)));
  const Shape column = axis == 1 ? Shape{s.to, 1, 1} : Shape{s.to, 1};
  const Tensor low = pick(op, x, axis, s.to, cell), share = op.graph().add_constant("", column, std::move(shares));
  const Tensor high = pick(op, x, axis, s.to, [&](int64_t i) { return std::min(cell(i) + 1, s.from - 1); });
  return low + (high - low) * share;
}

}  // namespace

void resize_bilinear(Op& op) {
  const auto& o = op.options<schema::ResizeBilinearOptions>();
  const std::vector<Side> sides = sides_of(op, o);
  if (o.align_corners() || o.half_pixel_centers())
    return op.set(resize_to(op.tensor(0), fbs::ResizeKind::Bilinear, sides[0].to, sides[1].to, o.align_corners()));
  op.set(interpolated(op, interpolated(op, op.tensor(0), 1, sides[0]), 2, sides[1]));
}

void resize_nearest_neighbor(Op& op) {
  const std::vector<Side> sides = sides_of(op, op.options<schema::ResizeNearestNeighborOptions>());
  bool plain = true;
  for (const Side& s : sides)
    for (int64_t i = 0; i < s.to; ++i) plain = plain && nearest_cell(s, i) == i * s.from / s.to;
  if (plain) return op.set(resize_to(op.tensor(0), fbs::ResizeKind::Nearest, sides[0].to, sides[1].to));
  const auto picked = [&](Tensor x, int axis, const Side& s) {
    return pick(op, x, axis, s.to, [&](int64_t i) { return nearest_cell(s, i); });
  };
  op.set(picked(picked(op.tensor(0), 1, sides[0]), 2, sides[1]));
}

}  // namespace ferry::tflite
