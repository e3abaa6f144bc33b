// Convolution and pooling in one and two dimensions.
#include <algorithm>
#include <cmath>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// What convolutions and pools share, for height and width; one dimension is a width of height 1.
struct Window {
  std::vector<int64_t> kernel, stride, dilation, before, after;
};

int spatial_rank(Op& op) {
  const int spatial = op.rank(0) - 2;
  if (spatial != 1 && spatial != 2) op.refuse("%d spatial dimensions, expected 1 or 2", spatial);
  return spatial;
}

std::vector<int64_t> spatial_list(Op& op, const std::string& name, int spatial) {
  std::vector<int64_t> list = op.integers(name, std::vector<int64_t>(static_cast<size_t>(spatial), 1));
  if (list.size() != static_cast<size_t>(spatial))
    op.refuse("attribute '%s' has %zu values, expected %d", name.c_str(), list.size(), spatial);
  for (const int64_t v : list)
    if (v < 1 || v > 1 << 20) op.refuse("attribute '%s' has a value of %lld", name.c_str(), static_cast<long long>(v));
  return list;
}

Window read_window(Op& op, std::vector<int64_t> kernel, int spatial) {
  Window w;
  w.kernel = std::move(kernel);
  w.stride = spatial_list(op, "strides", spatial);
  w.dilation = spatial_list(op, "dilations", spatial);
  const auto count = static_cast<size_t>(spatial);
  const std::string pad = op.text("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = op.integers("pads", std::vector<int64_t>(2 * count, 0));
  if (pads.size() != 2 * count) op.refuse("attribute 'pads' has %zu values, expected %zu", pads.size(), 2 * count);
  const Dims dims = op.dims(0);
  for (size_t i = 0; i < count; ++i) {
    int64_t before = pads[i], after = pads[count + i];
    if (pad == "VALID") {
      before = after = 0;
    } else if (pad == "SAME_UPPER" || pad == "SAME_LOWER") {
      const int64_t outputs = (dims[2 + i] + w.stride[i] - 1) / w.stride[i];
      const int64_t reach = (outputs - 1) * w.stride[i] + (w.kernel[i] - 1) * w.dilation[i] + 1;
      const int64_t all = std::max<int64_t>(reach - dims[2 + i], 0);
      before = pad == "SAME_UPPER" ? all / 2 : all - all / 2;
      after = all - before;
    } else if (pad != "NOTSET") {
      op.refuse("attribute 'auto_pad' is '%s', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", pad.c_str());
    }
    w.before.push_back(before);
    w.after.push_back(after);
  }
  if (spatial == 1) {
    for (auto* list : {&w.kernel, &w.stride, &w.dilation}) list->insert(list->begin(), 1);
    for (auto* list : {&w.before, &w.after}) list->insert(list->begin(), 0);
  }
  return w;
}

template <typename Params>
void set_window(const Window& w, Params* p) {
  p->stride_h = to_int32(w.stride)[0];
  p->stride_w = to_int32(w.stride)[1];
  p->pad_top = to_int32(w.before)[0];
  p->pad_left = to_int32(w.before)[1];
  p->pad_bottom = to_int32(w.after)[0];
  p->pad_right = to_int32(w.after)[1];
}

// [N,C,L] as [N,C,1,L], then channels last.
Tensor enter(Tensor x) {
  const Dims d = dims_of(x);
  return to_channels_last(d.size() == 3 ? reshape_to(x, {d[0], d[1], 1, d[2]}) : x);
}

Tensor leave(Tensor y, int spatial) {
  y = to_channels_first(y);
  const Dims d = dims_of(y);
  return spatial == 1 ? reshape_to(y, {d[0], d[1], d[3]}) : y;
}

// A convolution's weight with height and width.
Array weight_2d(Op& op, int spatial) {
  const Array& w = op.array(1, "the weight");
  if (static_cast<int>(w.dims.size()) != spatial + 2)
    op.refuse("the weight %s does not fit an input of %d dimensions", to_string(w.dims).c_str(), op.rank(0));
  return spatial == 1 ? w.reshaped({w.dims[0], w.dims[1], 1, w.dims[2]}) : w;
}

std::vector<int64_t> kernel_of(const Array& weight, int spatial) {
  return spatial == 1 ? std::vector<int64_t>{weight.dims[3]} : std::vector<int64_t>{weight.dims[2], weight.dims[3]};
}

Tensor add_weight(Op& op, const Array& weight) { return add_constant(op.graph(), op.node().inputs[1], weight); }

}  // namespace

void conv(Op& op) {
  const int spatial = spatial_rank(op);
  const Array weight = weight_2d(op, spatial);
  const Window w = read_window(op, kernel_of(weight, spatial), spatial);
  fbs::Conv2dT params;
  set_window(w, &params);
  params.dilation_h = to_int32(w.dilation)[0];
  params.dilation_w = to_int32(w.dilation)[1];
  params.groups = to_int32({op.integer("group", 1)})[0];
  std::vector<Tensor> inputs = {enter(op.tensor(0)), add_weight(op, transpose(weight, {0, 2, 3, 1}))};
  if (op.has(2)) inputs.push_back(add_constant(op.graph(), op.node().inputs[2], op.array(2, "the bias")));
  op.set(leave(op.graph().add_op("", params, inputs), spatial));
}

void conv_transpose(Op& op) {
  const int spatial = spatial_rank(op);
  const Array weight = weight_2d(op, spatial);  // I,O/groups,KH,KW
  const std::string pad = op.text("auto_pad", "NOTSET");
  Window w = read_window(op, kernel_of(weight, spatial), spatial);
  const int64_t groups = op.integer("group", 1), in = weight.dims[0], out = weight.dims[1];
  if (groups < 1 || in % groups != 0) op.refuse("%lld groups do not divide the weight", static_cast<long long>(groups));
  std::vector<int64_t> extra = op.integers("output_padding", std::vector<int64_t>(static_cast<size_t>(spatial), 0));
  if (extra.size() != static_cast<size_t>(spatial))
    op.refuse("attribute 'output_padding' has %zu values", extra.size());
  if (spatial == 1) extra.insert(extra.begin(), 0);
  const std::vector<int64_t> shape = op.integers("output_shape");
  const bool same = pad == "SAME_UPPER" || pad == "SAME_LOWER";
  if (!shape.empty() && shape.size() != static_cast<size_t>(spatial))
    op.refuse("attribute 'output_shape' has %zu values, expected %d", shape.size(), spatial);
  for (size_t i = 0; i < static_cast<size_t>(spatial) && (same || !shape.empty()); ++i) {
    // What is cut off follows from the size that comes out; an odd row falls at the end for SAME_UPPER only.
    const size_t k = i + (spatial == 1 ? 1 : 0);
    const int64_t size = op.dims(0)[2 + i], full = (size - 1) * w.stride[k] + (w.kernel[k] - 1) * w.dilation[k] + 1;
    const int64_t cut = full + extra[k] - (shape.empty() ? size * w.stride[k] : shape[i]);
    if (cut < 0) {
      extra[k] -= cut;
      w.before[k] = w.after[k] = 0;
      continue;
    }
    w.before[k] = pad == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    w.after[k] = cut - w.before[k];
  }
  fbs::ConvTranspose2dT params;
  set_window(w, &params);
  params.dilation_h = to_int32(w.dilation)[0];
  params.dilation_w = to_int32(w.dilation)[1];
  params.output_padding_h = to_int32(extra)[0];
  params.output_padding_w = to_int32(extra)[1];
  params.groups = to_int32({groups})[0];
  const int64_t kh = weight.dims[2], kw = weight.dims[3];
  const Array split = weight.reshaped({groups, in / groups, out, kh * kw});
  const Array turned = transpose(split, {0, 2, 3, 1}).reshaped({groups * out, kh, kw, in / groups});
  std::vector<Tensor> inputs = {enter(op.tensor(0)), add_weight(op, turned)};
  if (op.has(2)) inputs.push_back(add_constant(op.graph(), op.node().inputs[2], op.array(2, "the bias")));
  op.set(leave(op.graph().add_op("", params, inputs), spatial));
}

namespace {

void pool(Op& op, fbs::PoolKind kind) {
  const int spatial = spatial_rank(op);
  const std::vector<int64_t> kernel = spatial_list(op, "kernel_shape", spatial);
  if (!op.has_attribute("kernel_shape")) op.refuse("attribute 'kernel_shape' is missing");
  const Window w = read_window(op, kernel, spatial);
  if (std::any_of(w.dilation.begin(), w.dilation.end(), [](int64_t d) { return d != 1; }))
    op.refuse("attribute 'dilations' is not 1");
  fbs::Pool2dT params;
  params.kind = kind;
  params.kernel_h = to_int32(w.kernel)[0];
  params.kernel_w = to_int32(w.kernel)[1];
  set_window(w, &params);
  params.ceil_mode = op.integer("ceil_mode", 0) != 0;
  params.count_include_pad = op.integer("count_include_pad", 0) != 0;
  op.set(leave(op.graph().add_op("", params, {enter(op.tensor(0))}), spatial));
}

}  // namespace

void max_pool(Op& op) { pool(op, fbs::PoolKind::Max); }
void average_pool(Op& op) { pool(op, fbs::PoolKind::Average); }

}  // namespace ferry::onnx
