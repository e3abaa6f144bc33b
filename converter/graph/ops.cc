#include "converter/graph/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "converter/graph/elementary.h"

namespace ferry {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The operator that computes `x`; null for inputs and constants.
fbs::OperatorT* producer(Tensor x) {
  auto& ops = x.graph->table.operators;
  for (auto op = ops.rbegin(); op != ops.rend(); ++op)
    if ((*op)->outputs.front() == x.id) return op->get();
  return nullptr;
}

Tensor scalar_like(Tensor x, double value) {
  return x.graph->add_constant("", x.shape().rank == 0 ? Shape{} : Shape{1}, std::vector<double>{value});
}

Tensor no_bias(Graph& graph, int outputs) {
  return graph.add_constant("", Shape{outputs}, std::vector<double>(static_cast<size_t>(outputs)));
}

Tensor pool2d(Tensor x, fbs::PoolKind kind, const Pool2dOptions& options) {
  fbs::Pool2dT params;
  params.kind = kind;
  params.kernel_h = params.kernel_w = options.kernel;
  params.stride_h = params.stride_w = options.stride;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = options.padding;
  params.ceil_mode = options.ceil_mode;
  params.count_include_pad = options.count_include_pad;
  return x.graph->add_op("", params, {x});
}

// BatchNorm as x * scale + shift; without a tap.
Tensor normalize(Tensor x, const Weights& w, double eps) {
  const int count = channels(x);
  const std::vector<double> gamma = w.values("weight", count), beta = w.values("bias", count);
  const std::vector<double> mean = w.values("running_mean", count), var = w.values("running_var", count);
  std::vector<double> scale(gamma.size()), shift(gamma.size());
  for (size_t c = 0; c < gamma.size(); ++c) {
    if (!(var[c] + eps > 0))
      fail("'%s.running_var'[%zu] is %g: a variance must be positive", w.name().c_str(), c, var[c]);
    scale[c] = gamma[c] / std::sqrt(var[c] + eps);
    shift[c] = beta[c] - mean[c] * scale[c];
  }
  Graph& graph = w.graph();
  const std::string name = w.name();
  return x * graph.add_constant(name + ".scale", Shape{count}, std::move(scale)) +
         graph.add_constant(name + ".shift", Shape{count}, std::move(shift));
}

// Without a tap.
template <typename Params>
Tensor norm(Tensor x, const Weights& w, const Params& params) {
  const Shape width{channels(x)};
  return x.graph->add_op(w.name(), params, {x, w("weight", width), w("bias", width)});
}

fbs::GroupNormT group_norm_params(int groups, double eps) {
  fbs::GroupNormT params;
  params.groups = groups;
  params.epsilon = static_cast<float>(eps);
  return params;
}

}  // namespace

Tensor tap(Tensor x, const Weights& w, bool block) {
  Graph& graph = w.graph();
  const std::vector<std::string> names = w.tap_names();
  for (const std::string& name : names)
    graph.add_tap(name, x, x.shape().rank == 4 ? w.map_layout() : fbs::Layout::Same, block);
  if (names.empty()) return x;
  if (fbs::OperatorT* op = producer(x); op && op->name.empty()) op->name = names.front();
  if (std::string& name = graph.at(x.id).name; name.empty()) name = names.front();
  return x;
}

int channels(Tensor x) {
  const Shape shape = x.shape();
  return shape[shape.rank - 1];
}

Tensor conv2d(Tensor x, const Weights& w, const Conv2dOptions& o) {
  const int in = channels(x) / o.groups;
  Tensor weight = w.kernel({o.out, o.kernel, o.kernel, o.adapt_input ? 0 : in});
  if (o.adapt_input && channels(weight) != in) weight = adapt_input_channels(weight, in);
  if (o.standardize > 0 && !w.trying()) weight = standardize_weight(weight, o.standardize);
  fbs::Conv2dT params;
  params.stride_h = params.stride_w = o.stride;
  params.dilation_h = params.dilation_w = o.dilation;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = o.padding;
  if (o.padding_w >= 0) params.pad_left = params.pad_right = o.padding_w;
  params.groups = o.groups;
  std::vector<Tensor> inputs = {x, weight};
  if (o.bias) inputs.push_back(w("bias", {weight.shape()[0]}));
  return tap(x.graph->add_op(w.name(), params, inputs), w);
}

Tensor conv_transpose2d(Tensor x, const Weights& w, const ConvTranspose2dOptions& o) {
  const Tensor weight = w.transposed_kernel({o.out, o.kernel, o.kernel, channels(x) / o.groups}, o.groups);
  fbs::ConvTranspose2dT params;
  params.stride_h = params.stride_w = o.stride;
  params.dilation_h = params.dilation_w = o.dilation;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = o.padding;
  params.output_padding_h = params.output_padding_w = o.output_padding;
  params.groups = o.groups;
  std::vector<Tensor> inputs = {x, weight};
  if (o.bias) inputs.push_back(w("bias", {weight.shape()[0]}));
  return tap(x.graph->add_op(w.name(), params, inputs), w);
}

Tensor deform_conv2d(Tensor x, Tensor offsets, Tensor mask, const Weights& w, const DeformConv2dOptions& o) {
  const Tensor weight = w.kernel({o.out, o.kernel, o.kernel, channels(x) / o.groups});
  const Shape shape = weight.shape();
  fbs::DeformConv2dT params;
  params.stride_h = params.stride_w = o.stride;
  params.dilation_h = params.dilation_w = o.dilation;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = o.padding;
  params.groups = o.groups;
  params.offset_groups = channels(offsets) / (2 * shape[1] * shape[2]);
  const Tensor bias = o.bias ? w("bias", {shape[0]}) : no_bias(*x.graph, shape[0]);
  std::vector<Tensor> inputs = {x, weight, bias, offsets};
  if (mask.graph != nullptr) inputs.push_back(mask);
  return tap(x.graph->add_op(w.name(), params, inputs), w);
}

Tensor linear(Tensor x, const Weights& w, const LinearOptions& o) {
  const Tensor weight = w.matrix({o.out, channels(x)});
  std::vector<Tensor> inputs = {x, weight};
  if (o.bias) inputs.push_back(w("bias", {weight.shape()[0]}));
  return tap(x.graph->add_op(w.name(), fbs::LinearT{}, inputs), w);
}

Tensor batch_norm(Tensor x, const Weights& w, double eps) { return tap(normalize(x, w, eps), w); }

Tensor batch_norm_act(Tensor x, const Weights& w, Tensor (*act)(Tensor), double eps) {
  return tap(tap(act(normalize(x, w, eps)), w["act"]), w);
}

Tensor layer_norm(Tensor x, const Weights& w, double eps) {
  fbs::LayerNormT params;
  params.epsilon = static_cast<float>(eps);
  return tap(norm(x, w, params), w);
}

Tensor group_norm(Tensor x, const Weights& w, int groups, double eps) {
  return tap(norm(x, w, group_norm_params(groups, eps)), w);
}

Tensor group_norm_act(Tensor x, const Weights& w, Tensor (*act)(Tensor), int groups, double eps) {
  return tap(tap(act(norm(x, w, group_norm_params(groups, eps))), w["act"]), w);
}

Tensor grn(Tensor x, const Weights& w, double eps) {
  fbs::GrnT params;
  params.epsilon = static_cast<float>(eps);
  // transformers stores [1,1,1,C].
  const int width = channels(x), rank = w.stored_shape("weight").rank;
  const auto vector = [&](const char* leaf) {
    return rank == 4 ? reshape(w(leaf, {1, 1, 1, width}), {width}) : w(leaf, {width});
  };
  return tap(x.graph->add_op(w.name(), params, {x, vector("weight"), vector("bias")}), w);
}

Tensor prelu(Tensor x, const Weights& w) {
  const Shape slopes = w.stored_shape("weight");
  const bool shared = slopes.rank == 1 && slopes[0] == 1;
  return tap(binary(fbs::BinaryKind::PRelu, x, w("weight", {shared ? 1 : channels(x)})), w);
}

Tensor relu(Tensor x) { return clamp(x, 0, kInfinity); }
Tensor relu6(Tensor x) { return clamp(x, 0, 6); }
Tensor clamp(Tensor x, float low, float high) { return unary(x, fbs::UnaryKind::Clamp, low, high); }
Tensor leaky_relu(Tensor x, float slope) { return unary(x, fbs::UnaryKind::LeakyRelu, slope); }
Tensor sigmoid(Tensor x) { return unary(x, fbs::UnaryKind::Sigmoid); }
Tensor tanh(Tensor x) { return unary(x, fbs::UnaryKind::Tanh); }
Tensor hard_swish(Tensor x) { return unary(x, fbs::UnaryKind::HardSwish); }
Tensor silu(Tensor x) { return unary(x, fbs::UnaryKind::Silu); }
Tensor gelu(Tensor x) { return unary(x, fbs::UnaryKind::Gelu); }
Tensor gelu_tanh(Tensor x) { return unary(x, fbs::UnaryKind::GeluTanh); }
Tensor hard_sigmoid(Tensor x) { return unary(x, fbs::UnaryKind::HardSigmoid); }
// Exponentiates non-positive values only, to avoid overflow.
Tensor softplus(Tensor x) {
  const Tensor small = unary(unary(unary(x, fbs::UnaryKind::Abs), fbs::UnaryKind::Neg), fbs::UnaryKind::Exp);
  return relu(x) + unary(small + 1.0, fbs::UnaryKind::Log);
}
Tensor softmax(Tensor x) { return x.graph->add_op("", fbs::SoftmaxT{}, {x}); }

Tensor matmul(Tensor a, Tensor b, bool transpose_a, bool transpose_b) {
  fbs::MatMulT params;
  params.transpose_a = transpose_a;
  params.transpose_b = transpose_b;
  return a.graph->add_op("", params, {a, b});
}

Tensor max_pool2d(Tensor x, const Pool2dOptions& options) { return pool2d(x, fbs::PoolKind::Max, options); }
Tensor avg_pool2d(Tensor x, const Pool2dOptions& options) { return pool2d(x, fbs::PoolKind::Average, options); }

Tensor global_avg_pool(Tensor x) {
  fbs::ReduceT params;
  params.kind = fbs::ReduceKind::Mean;
  params.axes = {1, 2};
  params.keep_dims = true;
  return x.graph->add_op("", params, {x});
}

Tensor flatten(Tensor x) {
  const Shape shape = x.shape();
  const bool one_place = shape.rank == 4 && shape[1] == 1 && shape[2] == 1;
  if (shape.rank == 4 && !one_place) x = transpose(x, {0, 3, 1, 2});
  return reshape(x, {0, -1});
}

Tensor concat(const std::vector<Tensor>& parts, int axis) {
  fbs::ConcatT params;
  params.axis = axis < 0 ? axis + parts.front().shape().rank : axis;
  return parts.front().graph->add_op("", params, parts);
}

Tensor pixel_shuffle(Tensor x, int factor) {
  if (const int cell = factor * factor; cell > 1) {
    x = reshape(x, {0, 0, 0, channels(x) / cell, cell});
    x = reshape(transpose(x, {0, 1, 2, 4, 3}), {0, 0, 0, -1});
  }
  return depth_to_space(x, factor);
}

Tensor depth_to_space(Tensor x, int factor) {
  fbs::PixelShuffleT params;
  params.factor = factor;
  return x.graph->add_op("", params, {x});
}

Tensor resize(Tensor x, fbs::ResizeKind kind, int scale, bool align_corners) {
  fbs::Resize2dT params;
  params.kind = kind;
  params.scale_h = params.scale_w = scale;
  params.align_corners = align_corners;
  return x.graph->add_op("", params, {x});
}

Tensor resize_to(Tensor x, fbs::ResizeKind kind, int height, int width, bool align_corners) {
  fbs::Resize2dT params;
  params.kind = kind;
  params.height = height;
  params.width = width;
  params.align_corners = align_corners;
  return x.graph->add_op("", params, {x});
}

Tensor resize_like(Tensor x, Tensor like, fbs::ResizeKind kind, bool align_corners) {
  fbs::Resize2dT params;
  params.kind = kind;
  params.height = as_large_as(1);
  params.width = as_large_as(2);
  params.align_corners = align_corners;
  return x.graph->add_op("", params, {x, like});
}

Tensor pad2d(Tensor x, int top, int left, int bottom, int right, float value) {
  fbs::PadT params;
  params.before = {0, top, left, 0};
  params.after = {0, bottom, right, 0};
  params.value = value;
  return x.graph->add_op("", params, {x});
}

Tensor reshape(Tensor x, const std::vector<int32_t>& shape) {
  fbs::ReshapeT params;
  params.shape = shape;
  return x.graph->add_op("", params, {x});
}

Tensor reshape_like(Tensor x, Tensor like, const std::vector<int32_t>& shape) {
  fbs::ReshapeT params;
  params.shape = shape;
  return x.graph->add_op("", params, {x, like});
}

Tensor transpose(Tensor x, const std::vector<int32_t>& perm) {
  fbs::TransposeT params;
  params.perm = perm;
  return x.graph->add_op("", params, {x});
}

Tensor slice(Tensor x, int axis, int begin, int size) {
  fbs::SliceT params;
  const int rank = x.shape().rank;
  params.begin.assign(static_cast<size_t>(rank), 0);
  params.size.assign(static_cast<size_t>(rank), -1);
  const auto position = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  params.begin[position] = begin;
  params.size[position] = size;
  return x.graph->add_op("", params, {x});
}

Tensor attention(Tensor q, Tensor k, Tensor v, const AttentionOptions& o, const std::vector<Tensor>& biases) {
  fbs::AttentionT params;
  params.heads = o.heads;
  params.kv_heads = o.kv_heads ? o.kv_heads : o.heads;
  params.scale = static_cast<float>(o.scale != 0 ? o.scale : 1 / std::sqrt(static_cast<double>(channels(q) / o.heads)));
  params.causal = o.causal;
  params.window = o.window;
  params.softcap = static_cast<float>(o.softcap);
  std::vector<Tensor> inputs = {q, k, v};
  inputs.insert(inputs.end(), biases.begin(), biases.end());
  params.sinks = o.sinks.graph != nullptr;
  if (params.sinks) inputs.push_back(o.sinks);
  return q.graph->add_op("", params, inputs);
}

Tensor rotary_embedding(Tensor x, Tensor cos, Tensor sin, int heads, bool interleaved) {
  fbs::RotaryEmbeddingT params;
  params.heads = heads;
  params.interleaved = interleaved;
  return x.graph->add_op("", params, {x, cos, sin});
}

Tensor experts(Tensor x, Tensor chosen, Tensor shares, Tensor gate_up, Tensor down, const ExpertsOptions& o,
               const std::vector<Tensor>& biases) {
  fbs::ExpertsT params;
  params.activation = o.activation;
  params.alpha = static_cast<float>(o.alpha);
  params.limit = static_cast<float>(o.limit);
  std::vector<Tensor> inputs = {x, chosen, shares, gate_up, down};
  inputs.insert(inputs.end(), biases.begin(), biases.end());
  return x.graph->add_op("", params, inputs);
}

Tensor prepend_tokens(Tensor x, Tensor tokens) {
  // A sum of padded values instead of a concatenation: the constant has one sample, x any number.
  fbs::PadT params;
  params.before = {0, tokens.shape()[1], 0};
  params.after = {0, 0, 0};
  const Tensor padded = x.graph->add_op("", params, {x});
  params.before = {0, 0, 0};
  params.after = {0, x.shape()[1], 0};
  return padded + x.graph->add_op("", params, {tokens});
}

Tensor window_partition(Tensor x, int window, int shift_h, int shift_w) {
  fbs::WindowPartitionT params;
  params.window_h = params.window_w = window;
  params.shift_h = shift_h;
  params.shift_w = shift_w;
  return x.graph->add_op("", params, {x});
}

Tensor window_reverse(Tensor x, int window, int shift_h, int shift_w, int height, int width) {
  fbs::WindowReverseT params;
  params.window_h = params.window_w = window;
  params.shift_h = shift_h;
  params.shift_w = shift_w;
  params.height = height;
  params.width = width;
  return x.graph->add_op("", params, {x});
}

Tensor operator+(Tensor a, Tensor b) { return binary(fbs::BinaryKind::Add, a, b); }
Tensor operator-(Tensor a, Tensor b) { return binary(fbs::BinaryKind::Sub, a, b); }
Tensor operator*(Tensor a, Tensor b) { return binary(fbs::BinaryKind::Mul, a, b); }
Tensor operator*(Tensor a, double b) { return a * scalar_like(a, b); }
Tensor operator+(Tensor a, double b) { return a + scalar_like(a, b); }

Tensor adapt_input_channels(Tensor weight, int in_chans) {
  Graph& graph = *weight.graph;
  const std::string& name = graph.at(weight.id).name;
  const Shape from = weight.shape();
  const int in = from[3];
  const bool by_threes = in_chans == 1 && in > 3;
  if (in_chans == 1 ? by_threes && in % 3 != 0 : in != 3)
    fail("'%s' has %d input channels: no rule adapts them to %d (--in-chans %d keeps them)", name.c_str(), in, in_chans,
         in);
  const int out = by_threes ? in / 3 : in_chans;
  const std::vector<double> source = graph.values(weight.id);
  std::vector<double> adapted(source.size() / static_cast<size_t>(in) * static_cast<size_t>(out), 0.0);
  for (size_t position = 0; position < source.size() / static_cast<size_t>(in); ++position) {
    const double* s = &source[position * static_cast<size_t>(in)];
    double* d = &adapted[position * static_cast<size_t>(out)];
    if (in_chans == 1) {
      for (int i = 0; i < in; ++i) d[by_threes ? i / 3 : 0] += s[i];
    } else {
      for (int i = 0; i < out; ++i) d[i] = s[i % 3] * (3.0 / in_chans);
    }
  }
  return graph.add_constant(name, Shape{from[0], from[1], from[2], out}, std::move(adapted));
}

Tensor standardize_weight(Tensor weight, double eps) {
  Graph& graph = *weight.graph;
  std::vector<double> values = graph.values(weight.id);
  const size_t row = values.size() / static_cast<size_t>(weight.shape()[0]);
  for (auto at = values.begin(); at != values.end(); at += static_cast<std::ptrdiff_t>(row)) {
    const std::span<double> kernel(at, row);
    double mean = 0, variance = 0;
    for (double v : kernel) mean += v / static_cast<double>(row);
    for (double v : kernel) variance += (v - mean) * (v - mean) / static_cast<double>(row);
    for (double& v : kernel) v = (v - mean) / std::sqrt(variance + eps);
  }
  return graph.add_constant(graph.at(weight.id).name, weight.shape(), std::move(values));
}

}  // namespace ferry
