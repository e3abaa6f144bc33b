#include "converter/onnx/ops/window.h"

#include <algorithm>

#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

constexpr int64_t kMaxPlaces = int64_t{1} << 24;  // along a side

}  // namespace

int64_t Side::outputs(bool ceil_mode) const {
  const int64_t room = before + size + after - reach();
  if (room < 0 && (!ceil_mode || room <= -stride)) return 0;
  if (!ceil_mode) return room / stride + 1;
  const int64_t count = (room + stride - 1) / stride + 1;
  return (count - 1) * stride >= before + size ? count - 1 : count;
}

std::vector<int64_t> read_positive(Op& op, const std::string& name, size_t sides) {
  std::vector<int64_t> list = op.integers(name, std::vector<int64_t>(sides, 1));
  if (list.size() != sides) op.refuse("attribute '%s' has %zu values, expected %zu", name.c_str(), list.size(), sides);
  for (const int64_t v : list)
    if (v < 1 || v > 1 << 20) op.refuse("attribute '%s' has a value of %lld", name.c_str(), static_cast<long long>(v));
  return list;
}

std::vector<Side> read_sides(Op& op, const std::vector<int64_t>& kernel) {
  const size_t count = kernel.size();
  const Dims dims = op.dims(0);
  if (count < 1 || count > 3) op.refuse("%zu spatial dimensions, expected 1 to 3", count);
  if (dims.size() != count + 2) op.refuse("an input of %zu dimensions, expected %zu", dims.size(), count + 2);
  const std::vector<int64_t> strides = read_positive(op, "strides", count);
  const std::vector<int64_t> dilations = read_positive(op, "dilations", count);
  const std::string pad = op.text("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = op.integers("pads", std::vector<int64_t>(2 * count, 0));
  if (pads.size() != 2 * count) op.refuse("attribute 'pads' has %zu values, expected %zu", pads.size(), 2 * count);
  std::vector<Side> sides;
  for (size_t i = 0; i < count; ++i) {
    Side s{dims[2 + i], kernel[i], strides[i], dilations[i], pads[i], pads[count + i]};
    if (pad == "VALID") {
      s.before = s.after = 0;
    } else if (pad == "SAME_UPPER" || pad == "SAME_LOWER") {
      const int64_t outputs = (s.size + s.stride - 1) / s.stride;
      const int64_t all = std::max<int64_t>((outputs - 1) * s.stride + s.reach() - s.size, 0);
      s.before = pad == "SAME_UPPER" ? all / 2 : all - all / 2;
      s.after = all - s.before;
    } else if (pad != "NOTSET") {
      op.refuse("attribute 'auto_pad' is '%s', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", pad.c_str());
    }
    if (std::abs(s.before) > kMaxPlaces || std::abs(s.after) > kMaxPlaces || s.outputs(true) > kMaxPlaces)
      op.refuse("side %zu of %lld is padded by %lld and %lld", i, static_cast<long long>(s.size),
                static_cast<long long>(s.before), static_cast<long long>(s.after));
    sides.push_back(s);
  }
  return sides;
}

Tensor input_of_cell(Op& op, Tensor x, int axis, const Side& side, int64_t outputs, int64_t cell, double fill) {
  if (outputs > kMaxPlaces) op.refuse("%lld positions along a side", static_cast<long long>(outputs));
  if (outputs < 1) op.refuse("a window of %lld fits nowhere", static_cast<long long>(side.reach()));
  // Position p of the input is position p + before of the padded input.
  const int64_t first = cell * side.dilation, last = first + (outputs - 1) * side.stride;
  const int64_t before = std::max<int64_t>(side.before, 0);
  const int64_t after = std::max<int64_t>(last + 1 - side.before - side.size, 0);
  if (before + after > 0) {
    fbs::PadT pad;
    pad.before.assign(dims_of(x).size(), 0);
    pad.after = pad.before;
    pad.before[static_cast<size_t>(axis)] = to_int32({before})[0];
    pad.after[static_cast<size_t>(axis)] = to_int32({after})[0];
    pad.value = static_cast<float>(fill);
    x = op.graph().add_op("", pad, {x});
  }
  std::vector<int64_t> places;
  for (int64_t i = 0; i < outputs; ++i) places.push_back(first + i * side.stride - side.before + before);
  return pick(op, x, axis, places);
}

Tensor to_maps(Tensor x) {
  const Dims d = dims_of(x);
  if (d.size() == 3) return to_channels_last(reshape_to(x, {d[0], d[1], 1, d[2]}));
  if (d.size() == 4) return to_channels_last(x);
  return reshape_to(transpose(x, {0, 2, 3, 4, 1}), {d[0] * d[2], d[3], d[4], d[1]});
}

Tensor from_maps(Tensor maps, size_t sides, int64_t samples) {
  const Dims d = dims_of(maps);
  if (sides == 1) return reshape_to(to_channels_first(maps), {d[0], d[3], d[2]});
  if (sides == 2) return to_channels_first(maps);
  return transpose(reshape_to(maps, {samples, d[0] / samples, d[1], d[2], d[3]}), {0, 4, 1, 2, 3});
}

}  // namespace ferry::onnx
