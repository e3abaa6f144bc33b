// Convolutions. Filters are O,H,W,I, as the blob's; a depthwise one is 1,H,W,O.
#include <algorithm>
#include <cstring>

#include "converter/tflite/ops/ops.h"
#include "converter/tflite/ops/window.h"

namespace ferry::tflite {
namespace {

template <typename Params, typename Options>
Tensor convolved(const Op& op, Params params, const Options& o, Tensor filter) {
  const Shape x = map_shape(op, 0), w = filter.shape();
  check_window(op, {o.stride_h(), o.stride_w(), o.dilation_h_factor(), o.dilation_w_factor(), w[1], w[2]});
  params.stride_h = o.stride_h();
  params.stride_w = o.stride_w();
  params.dilation_h = o.dilation_h_factor();
  params.dilation_w = o.dilation_w_factor();
  set_padding(&params, padding_of(o.padding(), x[1], w[1], o.stride_h(), o.dilation_h_factor()),
              padding_of(o.padding(), x[2], w[2], o.stride_w(), o.dilation_w_factor()));
  std::vector<Tensor> inputs = {op.tensor(0), filter};
  if (op.has(2)) inputs.push_back(op.weight(2, "the bias"));
  return activated(op, op.graph().add_op("", params, inputs), o.fused_activation_function());
}

Tensor filter_of(const Op& op) {
  const Tensor filter = op.weight(1, "the filter");
  if (filter.shape().rank != 4) op.refuse("the filter has %d dimensions, expected 4", filter.shape().rank);
  return filter;
}

// 1,H,W,O to O,H,W,1.
Tensor by_outputs(Tensor filter) {
  Graph& graph = *filter.graph;
  const Shape from = filter.shape();
  const auto cells = static_cast<size_t>(from[1]) * static_cast<size_t>(from[2]),
             outputs = static_cast<size_t>(from[3]);
  const std::vector<double> values = graph.values(filter.id);
  std::vector<double> moved(values.size());
  for (size_t cell = 0; cell < cells; ++cell)
    for (size_t o = 0; o < outputs; ++o) moved[o * cells + cell] = values[cell * outputs + o];
  return graph.add_constant(graph.at(filter.id).name, Shape{from[3], from[1], from[2], 1}, std::move(moved));
}

}  // namespace

Tensor transposed(const Op& op, Tensor x, Tensor filter, schema::Padding padding, int32_t stride_h, int32_t stride_w,
                  int32_t height, int32_t width, bool bias, size_t bias_input) {
  const Shape from = x.shape(), w = filter.shape();
  if (from.rank != 4) op.refuse("the map has %d dimensions, expected 4", from.rank);
  check_window(op, {stride_h, stride_w, w[1], w[2], height, width});
  fbs::ConvTranspose2dT params;
  params.stride_h = stride_h;
  params.stride_w = stride_w;
  const auto side = [&](int32_t size, int32_t kernel, int32_t stride, int32_t out, int32_t* extra) {
    Padded cut = {padding_of(padding, out, kernel, stride, 1).before, 0};
    const int64_t after = int64_t{size - 1} * stride + kernel - cut.before - out;
    if (after < -int64_t{stride} + 1) op.refuse("its output is %d, larger than %d positions reach", out, size);
    cut.after = static_cast<int32_t>(std::max<int64_t>(after, 0));
    *extra = static_cast<int32_t>(std::max<int64_t>(-after, 0));
    return cut;
  };
  const Padded rows = side(from[1], w[1], stride_h, height, &params.output_padding_h);
  const Padded columns = side(from[2], w[2], stride_w, width, &params.output_padding_w);
  set_padding(&params, rows, columns);
  std::vector<Tensor> inputs = {x, filter};
  if (bias) inputs.push_back(op.weight(bias_input, "the bias"));
  return op.graph().add_op("", params, inputs);
}

void conv_2d(Op& op) {
  const Tensor filter = filter_of(op);
  const Shape x = map_shape(op, 0), w = filter.shape();
  fbs::Conv2dT params;
  if (x[3] % w[3] != 0) op.refuse("a filter of %d channels does not divide the input's %d", w[3], x[3]);
  params.groups = x[3] / w[3];
  op.set(convolved(op, params, op.options<schema::Conv2DOptions>(), filter));
}

void depthwise_conv_2d(Op& op) {
  const Tensor filter = filter_of(op);
  const Shape x = map_shape(op, 0), w = filter.shape();
  if (w[0] != 1 || w[3] % x[3] != 0)
    op.refuse("a filter %s does not fit an input of %d channels", to_string(w).c_str(), x[3]);
  fbs::Conv2dT params;
  params.groups = x[3];
  op.set(convolved(op, params, op.options<schema::DepthwiseConv2DOptions>(), by_outputs(filter)));
}

void transpose_conv(Op& op) {
  const auto& o = op.options<schema::TransposeConvOptions>();
  const std::vector<int64_t> to = op.integers(0, "the output's shape");
  if (to.size() != 4) op.refuse("the output's shape has %zu sizes, expected 4", to.size());
  for (const int64_t size : to)
    if (size < 1 || size > 1 << 24) op.refuse("the output's shape has a size of %lld", static_cast<long long>(size));
  const Tensor y = transposed(op, op.tensor(2), filter_of(op), o.padding(), o.stride_h(), o.stride_w(),
                              static_cast<int32_t>(to[1]), static_cast<int32_t>(to[2]), op.has(3), 3);
  op.set(activated(op, y, o.fused_activation_function()));
}

// MediaPipe's operator: inputs are the map, the filter and the bias. Its options are TensorFlow Lite's C struct of a
// transposed convolution: padding (1: SAME, 2: VALID), then the strides along the width and the height.
void convolution_2d_transpose_bias(Op& op) {
  int32_t values[3];
  if (op.custom_options().size() < sizeof values) op.refuse("its options have %zu bytes", op.custom_options().size());
  std::memcpy(values, op.custom_options().data(), sizeof values);
  const auto [padding, stride_w, stride_h] = values;
  if (padding != 1 && padding != 2) op.refuse("its padding is number %d, expected 1 or 2", padding);
  const Shape x = map_shape(op, 0);
  const Tensor filter = filter_of(op);
  check_window(op, {stride_h, stride_w, x[1], x[2]});
  const bool same = padding == 1;
  const auto side = [&](int32_t size, int32_t stride, int32_t kernel) {
    return same ? size * stride : (size - 1) * stride + kernel;
  };
  op.set(transposed(op, op.tensor(0), filter, same ? schema::Padding::SAME : schema::Padding::VALID, stride_h, stride_w,
                    side(x[1], stride_h, filter.shape()[1]), side(x[2], stride_w, filter.shape()[2]), op.has(2), 2));
}

}  // namespace ferry::tflite
