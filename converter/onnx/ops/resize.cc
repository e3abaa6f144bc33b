// Resize and Upsample. Uses ferry's resize2d if it computes the same. Other modes are linear along each axis and become
// linear layers whose weight holds the interpolation weights.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/onnx/ops/evaluate.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// The rule before opset 11, which has no name there: down where the side grows, up where it shrinks.
constexpr char kOldest[] = "before opset 11";

struct Resize {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, outside_value = 0;
  bool exclude_outside = false, antialias = false;
};

// One axis: from size `in` to size `out`.
struct Axis {
  int64_t in = 1, out = 1;
  double scale = 1;
  double start = 0, end = 1;  // of the region of interest, tf_crop_and_resize only

  // Whether the scale is the quotient of the sizes, up to the rounding of a float32 scale.
  bool exact() const {
    const auto size = static_cast<double>(out);
    return std::fabs(size - scale * static_cast<double>(in)) < 1e-6 + 1e-7 * size;
  }
};

// In Real: double, or float for nearest neighbours, where rounding decides between two of them as in ONNX Runtime.
template <typename Real>
Real source_place(const Resize& r, const Axis& a, int64_t position) {
  const auto x = static_cast<Real>(position), in = static_cast<Real>(a.in), out = static_cast<Real>(a.out);
  const auto scale = static_cast<Real>(a.scale), half = static_cast<Real>(0.5);
  if (r.coordinates == "asymmetric") return x / scale;
  // Uses the exact scale for the last position; a rounded side need not reach it.
  if (r.coordinates == "align_corners") return a.out == 1 ? 0 : x * (in - 1) / (a.exact() ? out - 1 : scale * in - 1);
  if (r.coordinates == "pytorch_half_pixel") return a.out == 1 ? 0 : (x + half) / scale - half;
  if (r.coordinates == "tf_half_pixel_for_nn") return (x + half) / scale;
  if (r.coordinates == "half_pixel_symmetric") {
    const Real adjustment = out / (scale * in);  // the output is centred in the scaled input
    return in / 2 * (1 - adjustment) + (x + half) / scale - half;
  }
  if (r.coordinates == "tf_crop_and_resize") {
    const auto start = static_cast<Real>(a.start), end = static_cast<Real>(a.end);
    return a.out == 1 ? half * (start + end) * (in - 1) : start * (in - 1) + x * (end - start) * (in - 1) / (out - 1);
  }
  return (x + half) / scale - half;
}

int64_t nearest_place(const Resize& r, const Axis& a, int64_t position) {
  const double x = static_cast<double>(source_place<float>(r, a, position));
  if (r.nearest == kOldest) return to_integer(a.scale < 1 ? std::ceil(x) : std::floor(x));
  if (r.nearest == "floor") return to_integer(std::floor(x));
  if (r.nearest == "ceil") return to_integer(std::ceil(x));
  if (r.nearest == "round_prefer_ceil") return to_integer(std::floor(x + 0.5));
  return to_integer(std::ceil(x - 0.5));
}

// Interpolation weight at distance d.
double kernel(const Resize& r, double d) {
  d = std::fabs(d);
  if (r.mode == "linear") return std::max(0.0, 1 - d);
  const double a = r.cubic;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

// Weights [out,in]. Rows outside of the input (tf_crop_and_resize) are zero.
std::vector<double> shares(const Resize& r, const Axis& a) {
  std::vector<double> weight(static_cast<size_t>(a.out * a.in), 0.0);
  for (int64_t position = 0; position < a.out; ++position) {
    double* row = &weight[static_cast<size_t>(position * a.in)];
    const double x = source_place<double>(r, a, position);
    if (r.coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(a.in - 1))) continue;
    if (r.mode == "nearest") {
      row[std::clamp<int64_t>(nearest_place(r, a, position), 0, a.in - 1)] = 1;
      continue;
    }
    const double stretch = r.antialias && a.scale < 1 ? 1 / a.scale : 1;
    const double reach = stretch * (r.mode == "linear" ? 1 : 2);
    double sum = 0;
    std::vector<std::pair<int64_t, double>> taps;
    for (auto i = to_integer(std::floor(x - reach)); i <= to_integer(std::ceil(x + reach)); ++i) {
      const double share = kernel(r, (x - static_cast<double>(i)) / stretch);
      if (share == 0 || (r.exclude_outside && (i < 0 || i >= a.in))) continue;
      taps.emplace_back(std::clamp<int64_t>(i, 0, a.in - 1), share);
      sum += share;
    }
    for (const auto& [i, share] : taps) row[i] += share / sum;
  }
  return weight;
}

Tensor along(Op& op, Tensor x, int axis, const Resize& r, const Axis& a) {
  if (a.in * a.out > int64_t{1} << 24)
    op.refuse("a side of %lld becomes %lld", static_cast<long long>(a.in), static_cast<long long>(a.out));
  const Tensor weight = op.graph().add_constant(
      op.node().name + ".shares", Shape{static_cast<int32_t>(a.out), static_cast<int32_t>(a.in)}, shares(r, a));
  return swap_with_last(op.graph().add_op("", fbs::LinearT{}, {swap_with_last(x, axis), weight}), axis);
}

// The kind of ferry's resize2d if it computes the same over height and width.
std::optional<fbs::ResizeKind> own_kind(const Resize& r, const std::vector<Axis>& axes) {
  if (axes.size() != 4 || axes[0].in != axes[0].out || axes[1].in != axes[1].out) return {};
  const bool corners = r.coordinates == "align_corners";
  if (r.mode == "nearest") {
    // Integer factors: every rule but align_corners repeats each position.
    for (const Axis& a : axes)
      for (int64_t position = 0; position < a.out; ++position)
        if (std::clamp<int64_t>(nearest_place(r, a, position), 0, a.in - 1) != position * a.in / a.out) return {};
    return fbs::ResizeKind::Nearest;
  }
  if (r.antialias && (axes[2].scale < 1 || axes[3].scale < 1)) return {};
  const bool half =
      r.coordinates == "half_pixel" || (r.coordinates == "pytorch_half_pixel" && axes[2].out > 1 && axes[3].out > 1);
  if (!(corners || half) || !axes[2].exact() || !axes[3].exact()) return {};
  if (r.mode == "linear") return fbs::ResizeKind::Bilinear;
  if (r.cubic != -0.75 || r.exclude_outside) return {};
  return fbs::ResizeKind::Bicubic;
}

Tensor resized(Op& op, const Resize& r, const std::vector<Axis>& axes) {
  if (const auto kind = own_kind(r, axes)) {
    const Tensor map = to_channels_last(op.tensor(0));
    const bool corners = r.coordinates == "align_corners" && r.mode != "nearest";
    return to_channels_first(
        resize_to(map, *kind, static_cast<int>(axes[2].out), static_cast<int>(axes[3].out), corners));
  }
  Tensor x = op.tensor(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis& a = axes[i];
    const bool cropped = r.coordinates == "tf_crop_and_resize" && (a.start != 0 || a.end != 1);
    if (a.in != a.out || a.scale != 1 || cropped) x = along(op, x, static_cast<int>(i), r, a);
  }
  return x;
}

// The extrapolation value where the region of interest exceeds the input, else 0.
Tensor outside(Op& op, const Resize& r, const std::vector<Axis>& axes) {
  Array inside = make_array(Type::Float64, {}, std::vector<double>{1});
  for (const Axis& a : axes) {
    std::vector<double> side;
    for (int64_t position = 0; position < a.out; ++position) {
      const double x = source_place<double>(r, a, position);
      side.push_back(x >= 0 && x <= static_cast<double>(a.in - 1) ? 1 : 0);
    }
    if (std::count(side.begin(), side.end(), 1) == a.out) side = {1};
    Dims column = inside.dims;
    column.push_back(1);
    inside = combine(inside.reshaped(column), make_array(Type::Float64, {static_cast<int64_t>(side.size())}, side),
                     [](auto x, auto y) { return x * y; });
  }
  return add_constant(op.graph(), op.node().name + ".outside",
                      map(inside, [&](double x) { return (1 - x) * r.outside_value; }));
}

std::vector<double> scales_of(Op& op, size_t input) {
  if (op.has(input)) return op.array(input, "scales").floats();
  return op.numbers("scales");
}

// The size that the file states if the scale gives it up to rounding, because exporters compute sizes before they round
// the scale to float32; else that of ONNX Runtime, whose product is in float32.
int64_t scaled_size(Op& op, size_t dimension, const Axis& a) {
  const int64_t stated = op.declared_size(dimension);
  if (stated > 0 && std::fabs(static_cast<double>(stated) - a.scale * static_cast<double>(a.in)) < 1) return stated;
  return to_integer(std::floor(static_cast<float>(a.in) * static_cast<float>(a.scale)));
}

}  // namespace

void resize(Op& op) {
  const Dims dims = op.dims(0);
  Resize r;
  r.mode = op.text("mode", "nearest");
  r.coordinates = op.text("coordinate_transformation_mode", op.opset() < 11 ? "asymmetric" : "half_pixel");
  r.nearest = op.text("nearest_mode", op.opset() < 11 ? kOldest : "round_prefer_floor");
  r.cubic = op.number("cubic_coeff_a", -0.75);
  r.outside_value = op.number("extrapolation_value", 0);
  r.exclude_outside = op.integer("exclude_outside", 0) != 0;
  r.antialias = op.integer("antialias", 0) != 0;
  if (r.mode == "bilinear") r.mode = "linear";
  if (r.mode != "nearest" && r.mode != "linear" && r.mode != "cubic")
    op.refuse("attribute 'mode' is '%s', expected nearest, linear or cubic", r.mode.c_str());
  const std::string policy = op.text("keep_aspect_ratio_policy", "stretch");

  std::vector<int64_t> list(dims.size());
  std::iota(list.begin(), list.end(), 0);
  const std::vector<int> named = op.axes(op.integers("axes", list), op.rank(0));
  const bool upsample = op.opset() < 11;
  std::vector<double> scales = scales_of(op, upsample ? 1 : 2);
  std::vector<int64_t> sizes;
  if (!upsample && op.has(3) && scales.empty()) sizes = op.array(3, "sizes").ints();
  if (scales.size() + sizes.size() != named.size()) op.refuse("neither scales nor sizes fit %zu axes", named.size());
  const std::vector<double> roi = !upsample && op.has(1) ? op.array(1, "roi").floats() : std::vector<double>{};

  std::vector<Axis> axes;
  for (const int64_t d : dims) axes.push_back({.in = d, .out = d});
  double common = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double s = static_cast<double>(sizes[i]) / static_cast<double>(dims[static_cast<size_t>(named[i])]);
    if (common == 0 || (policy == "not_larger" ? s < common : s > common)) common = s;
  }
  for (size_t i = 0; i < named.size(); ++i) {
    Axis& a = axes[static_cast<size_t>(named[i])];
    const auto in = static_cast<double>(a.in);
    if (!sizes.empty()) {
      a.out = policy == "stretch" ? sizes[i] : to_integer(std::floor(common * in + 0.5));
      a.scale = policy == "stretch" ? static_cast<double>(a.out) / in : common;
    } else {
      a.scale = scales[i];
      a.out = scaled_size(op, static_cast<size_t>(named[i]), a);
    }
    if (r.coordinates == "tf_crop_and_resize" && roi.size() == 2 * named.size()) {
      a.start = roi[i];
      a.end = roi[named.size() + i];
      if (sizes.empty()) a.out = to_integer(std::floor(in * (a.end - a.start) * a.scale));
    }
    const bool sane = a.scale > 1e-6 && a.scale < 1e6 && std::fabs(a.start) < 1e3 && std::fabs(a.end) < 1e3;
    if (a.out < 1 || a.out > 1 << 20 || !sane) op.refuse("a side becomes %lld", static_cast<long long>(a.out));
  }
  const Tensor y = resized(op, r, axes);
  const bool cropped = r.coordinates == "tf_crop_and_resize" && r.outside_value != 0;
  op.set(cropped ? y + outside(op, r, axes) : y);
}

}  // namespace ferry::onnx
