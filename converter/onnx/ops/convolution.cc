// Convolutions. In 3D, the kernel's cells along the depth become channels of 2D maps.
#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"
#include "converter/onnx/ops/window.h"

namespace ferry::onnx {
namespace {

constexpr int64_t kMaxComputedCells = 1 << 10;  // of a computed kernel: each becomes operators

std::vector<int64_t> kernel_of(Op& op, const Dims& w) {
  if (w.size() < 3 || w.size() != op.dims(0).size())
    op.refuse("the weight %s does not fit an input of %d dimensions", to_string(w).c_str(), op.rank(0));
  return {w.begin() + 2, w.end()};
}

std::vector<Tensor> with_weight(Op& op, Tensor x, const Array& weight, bool bias) {
  std::vector<Tensor> inputs = {x, add_constant(op.graph(), op.input_name(1), weight)};
  if (bias) inputs.push_back(add_constant(op.graph(), op.input_name(2), op.array(2, "the bias")));
  return inputs;
}

// [N,C,D,H,W] to [N,C*KD,D',H,W]: within a group, all channels of each kernel cell along the depth.
Tensor depth_as_channels(Op& op, Tensor x, const Side& depth, int64_t groups) {
  const Dims d = dims_of(x);
  const int64_t outputs = depth.outputs();
  std::vector<Tensor> cells;
  for (int64_t k = 0; k < depth.kernel; ++k)
    cells.push_back(reshape_to(input_of_cell(op, x, 2, depth, outputs, k, 0),
                               {d[0] * groups, d[1] / groups, outputs, d[3] * d[4]}));
  return reshape_to(ferry::concat(cells, 1), {d[0], d[1] * depth.kernel, outputs, d[3], d[4]});
}

// O,I,KH,KW (or O,I,KW, or O,I,KD,KH,KW with the depth among the channels) in the blob's order.
Array for_maps(const Array& w) {
  const Dims& d = w.dims;
  if (d.size() == 3) return transpose(w.reshaped({d[0], d[1], 1, d[2]}), {0, 2, 3, 1});
  if (d.size() == 4) return transpose(w, {0, 2, 3, 1});
  return transpose(w, {0, 3, 4, 2, 1}).reshaped({d[0], d[3], d[4], d[2] * d[1]});
}

}  // namespace

Tensor convolve(Op& op, Tensor x, const Array& weight, bool bias) {
  const std::vector<Side> sides = read_sides(op, kernel_of(op, weight.dims));
  const int64_t groups = op.integer("group", 1);
  if (groups < 1 || op.dims(0)[1] % groups != 0)
    op.refuse("%lld groups do not divide the channels", static_cast<long long>(groups));
  fbs::Conv2dT params;
  set_window(sides, &params);
  set_dilation(sides, &params);
  params.groups = to_int32({groups})[0];
  if (sides.size() == 3) x = depth_as_channels(op, x, sides[0], groups);
  const Tensor y = op.graph().add_op("", params, with_weight(op, to_maps(x), for_maps(weight), bias));
  return from_maps(y, sides.size(), op.dims(0)[0]);
}

namespace {

// The input of every kernel cell, [N,G,C/G*cells,positions]: im2col.
Tensor columns_of(Op& op, const std::vector<Side>& sides, const Dims& positions, int64_t groups) {
  const Dims d = op.dims(0);
  int64_t cells = 1;
  for (const Side& side : sides) cells *= side.kernel;
  if (cells > kMaxComputedCells)
    op.refuse("a computed kernel of %lld positions, at most %lld", static_cast<long long>(cells),
              static_cast<long long>(kMaxComputedCells));
  std::vector<Tensor> columns;
  for (int64_t cell = 0; cell < cells; ++cell) {
    Tensor x = op.tensor(0);
    int64_t rest = cell;
    for (size_t i = sides.size(); i-- > 0; rest /= sides[i].kernel)
      x = input_of_cell(op, x, static_cast<int>(i) + 2, sides[i], positions[i], rest % sides[i].kernel, 0);
    columns.push_back(reshape_to(x, {d[0], groups, d[1] / groups, 1, count_elements(positions)}));
  }
  return reshape_to(ferry::concat(columns, 3), {d[0], groups, d[1] / groups * cells, count_elements(positions)});
}

// A kernel that the graph computes (correlation with a template, modulated weights): a product with im2col.
Tensor convolve_computed(Op& op) {
  const Dims d = op.dims(0), w = op.dims(1);
  const std::vector<Side> sides = read_sides(op, kernel_of(op, w));
  const int64_t groups = op.integer("group", 1);
  if (groups < 1 || d[1] % groups != 0 || w[0] % groups != 0 || w[1] != d[1] / groups)
    op.refuse("the weight %s does not fit %lld channels in %lld groups", to_string(w).c_str(),
              static_cast<long long>(d[1]), static_cast<long long>(groups));
  Dims positions, to = {d[0], w[0]};
  for (const Side& side : sides) positions.push_back(side.outputs());
  to.insert(to.end(), positions.begin(), positions.end());
  const Tensor kernels = reshape_to(op.tensor(1), {1, groups, w[0] / groups, count_elements(w) / w[0]});
  return reshape_to(multiply(op, kernels, columns_of(op, sides, positions, groups)), to);
}

Tensor with_bias(Op& op, Tensor y) {
  Dims channels(static_cast<size_t>(op.rank(0)) - 1, 1);
  channels[0] = op.dims(1)[0];
  return y + reshape_to(op.tensor(2), channels);
}

}  // namespace

void conv(Op& op) {
  const bool bias_known = !op.has(2) || op.known(2);
  if (op.known(1) && bias_known) return op.set(convolve(op, op.tensor(0), op.array(1, "the weight"), op.has(2)));
  const Tensor y = op.known(1) ? convolve(op, op.tensor(0), op.array(1, "the weight"), false) : convolve_computed(op);
  op.set(op.has(2) ? with_bias(op, y) : y);
}

namespace {

// Cropping of each side and output padding, from the attributes or the requested output size.
std::vector<int64_t> read_output_padding(Op& op, std::vector<Side>* sides) {
  const std::string pad = op.text("auto_pad", "NOTSET");
  std::vector<int64_t> extra = op.integers("output_padding", std::vector<int64_t>(sides->size(), 0));
  if (extra.size() != sides->size()) op.refuse("attribute 'output_padding' has %zu values", extra.size());
  const std::vector<int64_t> shape = op.integers("output_shape");
  const bool same = pad == "SAME_UPPER" || pad == "SAME_LOWER";
  if (!shape.empty() && shape.size() != sides->size())
    op.refuse("attribute 'output_shape' has %zu values, expected %zu", shape.size(), sides->size());
  for (size_t i = 0; i < sides->size() && (same || !shape.empty()); ++i) {
    // Only SAME_UPPER puts an odd row at the end.
    Side& s = (*sides)[i];
    const int64_t cut = (s.size - 1) * s.stride + s.reach() + extra[i] - (shape.empty() ? s.size * s.stride : shape[i]);
    if (cut < 0) {
      extra[i] -= cut;
      s.before = s.after = 0;
      continue;
    }
    s.before = pad == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    s.after = cut - s.before;
  }
  return extra;
}

// Inserts stride - 1 zeros along the depth of [N,C,D,H,W].
Tensor spread_depth(Op& op, Tensor x, int64_t stride) {
  if (stride == 1) return x;
  const Dims d = dims_of(x);
  fbs::PadT pad;
  pad.before = {0, 0, 0, 0};
  pad.after = {0, 0, to_int32({stride - 1})[0], 0};
  const Tensor spread = op.graph().add_op("", pad, {reshape_to(x, {d[0] * d[1], d[2], 1, d[3] * d[4]})});
  const int64_t size = (d[2] - 1) * stride + 1;
  return ferry::slice(reshape_to(spread, {d[0], d[1], d[2] * stride, d[3], d[4]}), 2, 0, static_cast<int>(size));
}

// I,O/groups,KH,KW (or fewer or more dimensions) to O,KH,KW,I/groups, with the depth reversed among the channels.
Array transposed_for_maps(const Array& w, int64_t groups) {
  const Dims& d = w.dims;
  const int64_t kw = d.back(), kh = d.size() > 3 ? d[d.size() - 2] : 1, kd = d.size() > 4 ? d[2] : 1;
  const int64_t in = d[0] / groups, out = d[1];
  const Array split = w.reshaped({groups, in, out, kd, kh * kw});
  std::vector<int64_t> backwards;
  for (int64_t k = kd; k-- > 0;) backwards.push_back(k);
  return transpose(pick(split, 3, backwards), {0, 2, 4, 3, 1}).reshaped({groups * out, kh, kw, kd * in});
}

}  // namespace

void conv_transpose(Op& op) {
  const Array& weight = op.array(1, "the weight");
  std::vector<Side> sides = read_sides(op, kernel_of(op, weight.dims));
  const int64_t groups = op.integer("group", 1);
  if (groups < 1 || weight.dims[0] % groups != 0 || weight.dims[0] != op.dims(0)[1])
    op.refuse("the weight %s does not fit %lld channels in %lld groups", to_string(weight.dims).c_str(),
              static_cast<long long>(op.dims(0)[1]), static_cast<long long>(groups));
  std::vector<int64_t> extra = read_output_padding(op, &sides);
  Tensor x = op.tensor(0);
  if (sides.size() == 3) {
    // Along the depth, it is a convolution over the zero-stuffed input.
    const Side& s = sides[0];
    const int64_t margin = s.reach() - 1;
    x = spread_depth(op, x, s.stride);
    x = depth_as_channels(
        op, x, Side{dims_of(x)[2], s.kernel, 1, s.dilation, margin - s.before, margin - s.after + extra[0]}, groups);
  }
  // The CPU's operator refuses outputs below stride - 1: they are cut out of larger ones.
  std::vector<Side> whole = sides;
  std::vector<int64_t> cut(sides.size(), 0);  // the size of what is cut out
  for (size_t i = sides.size() > 2 ? 1 : 0; i < sides.size(); ++i) {
    const Side& s = sides[i];
    const int64_t all = (s.size - 1) * s.stride + s.reach() + extra[i], left = all - s.before - s.after;
    if (left < 1) op.refuse("nothing is left of side %zu", i);
    if (left >= s.stride - 1) continue;
    cut[i] = left;
    whole[i].before = whole[i].after = 0;
    extra[i] += std::max<int64_t>(s.stride - 1 - all, 0);
  }
  fbs::ConvTranspose2dT params;
  set_window(whole, &params);
  set_dilation(whole, &params);
  params.output_padding_h = sides.size() > 1 ? to_int32(extra)[sides.size() - 2] : 0;
  params.output_padding_w = to_int32(extra).back();
  params.groups = to_int32({groups})[0];
  Tensor y = op.graph().add_op("", params, with_weight(op, to_maps(x), transposed_for_maps(weight, groups), op.has(2)));
  for (size_t i = 1; i <= std::min<size_t>(sides.size(), 2); ++i)
    if (const int64_t size = cut[sides.size() - i]; size > 0)
      y = ferry::slice(y, 3 - static_cast<int>(i), static_cast<int>(sides[sides.size() - i].before),
                       static_cast<int>(size));
  op.set(from_maps(y, sides.size(), op.dims(0)[0]));
}

}  // namespace ferry::onnx
