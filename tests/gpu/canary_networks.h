// Networks of one operator or a chain of operators, in sizes that canaries shrink.
#pragma once

#include <vector>

#include "converter/graph/graph.h"
#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "converter/reference/reference.h"
#include "tests/support/blobs.h"

namespace ferry::testing {

inline std::vector<float> some(const Shape& shape, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 2 * noise(seed, static_cast<uint32_t>(i));
  return values;
}

constexpr int32_t kExperts = 5;

// The network's inputs; integers are expert indices.
inline std::vector<reference::Array> inputs_of(const Graph& graph) {
  std::vector<reference::Array> inputs;
  for (const auto& port : graph.table.inputs) {
    const Shape shape = graph.shape(port->tensor);
    const std::vector<float> values = some(shape, 20 + index_of(port->tensor));
    inputs.push_back({shape, {values.begin(), values.end()}, graph.type(port->tensor).dtype});
    if (inputs.back().dtype != fbs::DType::Int32) continue;
    for (size_t i = 0; i < values.size(); ++i) inputs.back().values[i] = static_cast<double>(i * 7 % kExperts);
  }
  return inputs;
}

inline Tensor input(Graph& graph, const char* name, const Shape& shape) {
  return graph.add_input(name, shape, fbs::Layout::Same);
}

inline Tensor constant(Graph& graph, const char* name, const Shape& shape) {
  return graph.add_constant(name, shape, some(shape, static_cast<uint32_t>(shape.elements())));
}

template <typename Params>
Tensor weighted(Graph& graph, const Params& params, const Shape& x, const Shape& weight, const Shape& bias) {
  return graph.add_op("op", params, {input(graph, "x", x), constant(graph, "w", weight), constant(graph, "b", bias)});
}

template <typename Params>
Tensor weighted(Graph& graph, const Params& params, const Shape& x, const Shape& weight) {
  return weighted(graph, params, x, weight, {weight[0]});
}

inline Tensor conv(Graph& graph) {
  fbs::Conv2dT p;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1;
  return weighted(graph, p, {2, 17, 34, 41}, {30, 3, 3, 41});
}

inline Tensor uneven_conv(Graph& graph) {
  fbs::Conv2dT p;
  p.stride_h = p.dilation_w = 2;
  p.stride_w = p.dilation_h = 3;
  p.pad_top = 3;
  p.pad_left = 2;
  p.pad_bottom = 1;
  return weighted(graph, p, {2, 31, 80, 22}, {27, 3, 5, 22});
}

inline Tensor depthwise(Graph& graph) {
  fbs::Conv2dT p;
  p.groups = 22;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1;
  return weighted(graph, p, {2, 19, 29, 22}, {22, 3, 3, 1});
}

inline Tensor uneven_depthwise(Graph& graph) {
  fbs::Conv2dT p;
  p.groups = 22;
  p.stride_h = p.dilation_w = 2;
  p.pad_left = 3;
  return weighted(graph, p, {2, 19, 29, 22}, {22, 3, 5, 1});
}

inline Tensor grouped(Graph& graph) {
  fbs::Conv2dT p;
  p.groups = 3;
  p.stride_h = 2;
  p.pad_top = p.pad_right = 1;
  return weighted(graph, p, {1, 25, 28, 15}, {18, 3, 2, 5});
}

inline Tensor transposed(Graph& graph) {
  fbs::ConvTranspose2dT p;
  p.stride_h = 2;
  p.stride_w = 3;
  p.pad_top = 1;
  p.pad_left = 2;
  p.output_padding_w = 1;
  return weighted(graph, p, {2, 12, 14, 22}, {27, 3, 4, 22});
}

inline Tensor linear(Graph& graph) { return weighted(graph, fbs::LinearT(), {3, 450, 50}, {66, 50}); }

inline Tensor few_rows(Graph& graph) { return weighted(graph, fbs::LinearT(), {3, 550}, {39, 550}); }

template <void (*quantize)(Graph& graph, const fbs::TensorT& constant)>
Tensor linear_of_integers(Graph& graph) {
  const Tensor w = constant(graph, "w", {66, 64});
  quantize(graph, graph.at(w.id));
  return graph.add_op("op", fbs::LinearT(), {input(graph, "x", {3, 450, 64}), w, constant(graph, "b", {66})});
}

template <void (*quantize)(Graph& graph, const fbs::TensorT& constant)>
Tensor few_rows_of_integers(Graph& graph) {
  const Tensor w = constant(graph, "w", {39, 544});
  quantize(graph, graph.at(w.id));
  return graph.add_op("op", fbs::LinearT(), {input(graph, "x", {3, 544}), w});
}

inline Tensor unary(Graph& graph, Tensor value, fbs::UnaryKind kind, float alpha = 0, float beta = 0) {
  fbs::UnaryT p;
  p.kind = kind;
  p.alpha = alpha;
  p.beta = beta;
  return graph.add_op("unary", p, {value});
}

inline Tensor binary(Graph& graph, Tensor a, Tensor b, fbs::BinaryKind kind) {
  fbs::BinaryT p;
  p.kind = kind;
  return graph.add_op("binary", p, {a, b});
}

template <fbs::UnaryKind kind>
Tensor activation(Graph& graph) {
  return unary(graph, input(graph, "x", {1, 9, 30, 22}), kind, -0.5, 0.25);
}

inline Tensor riders(Graph& graph) {
  Tensor value =
      binary(graph, input(graph, "x", {2, 9, 30, 22}), input(graph, "gate", {2, 1, 1, 22}), fbs::BinaryKind::Sub);
  value = binary(graph, value, constant(graph, "factor", {22}), fbs::BinaryKind::Mul);
  return binary(graph, value, constant(graph, "slope", {1}), fbs::BinaryKind::PRelu);
}

inline Tensor two_vectors(Graph& graph) {
  const Tensor value =
      binary(graph, input(graph, "x", {2, 9, 30, 22}), constant(graph, "factor", {1, 22}), fbs::BinaryKind::Mul);
  return binary(graph, constant(graph, "sum", {22}), value, fbs::BinaryKind::Sub);
}

inline Tensor broadcast(Graph& graph) {
  return binary(graph, input(graph, "x", {3, 1, 10, 22}), input(graph, "y", {1, 9, 10, 1}), fbs::BinaryKind::Sub);
}

template <fbs::PoolKind kind, bool count_include_pad>
Tensor pool(Graph& graph) {
  fbs::Pool2dT p;
  p.kind = kind;
  p.kernel_h = 3;
  p.kernel_w = 5;
  p.stride_h = 2;
  p.stride_w = 3;
  p.pad_top = p.pad_bottom = 1;
  p.pad_left = 2;
  p.ceil_mode = true;
  p.count_include_pad = count_include_pad;
  return graph.add_op("op", p, {input(graph, "x", {2, 22, 41, 22})});
}

inline Tensor mean_of_rows(Graph& graph) {
  fbs::ReduceT p;
  p.axes = {1, 2};
  return graph.add_op("op", p, {input(graph, "x", {2, 10, 25, 42})});
}

inline Tensor sum_of_channels(Graph& graph) {
  fbs::ReduceT p;
  p.kind = fbs::ReduceKind::Sum;
  p.axes = {1, 3};
  return graph.add_op("op", p, {input(graph, "x", {2, 10, 25, 42})});
}

template <fbs::ResizeKind kind>
Tensor resize(Graph& graph) {
  fbs::Resize2dT p;
  p.kind = kind;
  p.scale_w = 3;
  return graph.add_op("op", p, {input(graph, "x", {2, 11, 13, 22})});
}

inline Tensor softmax(Graph& graph) { return graph.add_op("op", fbs::SoftmaxT(), {input(graph, "x", {2, 5, 303})}); }

template <int axis>
Tensor concat(Graph& graph) {
  fbs::ConcatT p;
  p.axis = axis;
  const Shape second = axis == 3 ? Shape{2, 6, 8, 17} : Shape{2, 3, 8, 22};
  return graph.add_op("op", p, {input(graph, "x", {2, 6, 8, 22}), input(graph, "y", second)});
}

inline Tensor pixel_shuffle(Graph& graph) {
  fbs::PixelShuffleT p;
  p.factor = 3;
  return graph.add_op("op", p, {input(graph, "x", {2, 5, 7, 45})});
}

inline Tensor transpose(Graph& graph) {
  fbs::TransposeT p;
  p.perm = {0, 3, 1, 2};
  return graph.add_op("op", p, {input(graph, "x", {2, 6, 10, 22})});
}

inline Tensor pad(Graph& graph) {
  fbs::PadT p;
  p.before = {0, 1, 2, 0};
  p.after = {0, 2, 1, 0};
  p.value = 0.5;
  return graph.add_op("op", p, {input(graph, "x", {2, 6, 10, 22})});
}

inline Tensor slice(Graph& graph) {
  fbs::SliceT p;
  p.begin = {0, 1, 2, 3};
  p.size = {-1, 4, 7, 17};
  return graph.add_op("op", p, {input(graph, "x", {2, 6, 10, 22})});
}

inline Tensor reshape(Graph& graph) {
  fbs::ReshapeT p;
  p.shape = {2, 30, -1};
  return graph.add_op("op", p, {input(graph, "x", {2, 6, 10, 35})});
}

template <typename Params>
Tensor normalized(Graph& graph, const Params& params, const Shape& x) {
  const Shape channels{x[x.rank - 1]};
  return graph.add_op("op", params,
                      {input(graph, "x", x), constant(graph, "w", channels), constant(graph, "b", channels)});
}

inline Tensor layer_norm(Graph& graph) { return normalized(graph, fbs::LayerNormT(), {2, 30, 303}); }

inline Tensor rms_norm(Graph& graph) {
  fbs::LayerNormT p;
  p.centered = false;
  return normalized(graph, p, {2, 30, 303});
}

inline Tensor grn(Graph& graph) { return normalized(graph, fbs::GrnT(), {2, 12, 25, 30}); }

inline Tensor group_norm(Graph& graph) {
  fbs::GroupNormT p;
  p.groups = 3;
  return normalized(graph, p, {3, 30, 40, 18});
}

inline Tensor attention(Graph& graph) {
  fbs::AttentionT p;
  p.heads = 4;
  p.kv_heads = 2;
  return graph.add_op("op", p,
                      {input(graph, "q", {6, 70, 24}), input(graph, "k", {6, 50, 12}), input(graph, "v", {6, 50, 24}),
                       constant(graph, "bias", {1, 4, 70, 50}), constant(graph, "mask", {3, 1, 70, 50})});
}

// Reads keys and values in place.
inline Tensor attention_to_all(Graph& graph) {
  fbs::AttentionT p;
  p.heads = 4;
  p.kv_heads = 2;
  p.causal = true;
  p.window = 30;
  p.sinks = true;
  p.softcap = 2;
  return graph.add_op("op", p,
                      {input(graph, "q", {2, 40, 48}), input(graph, "k", {2, 70, 24}), input(graph, "v", {2, 70, 24}),
                       constant(graph, "sinks", {4})});
}

template <bool transpose_a, bool transpose_b>
Tensor product(Graph& graph) {
  fbs::MatMulT p;
  p.transpose_a = transpose_a;
  p.transpose_b = transpose_b;
  const Shape a = transpose_a ? Shape{2, 1, 41, 30} : Shape{2, 1, 30, 41};
  const Shape b = transpose_b ? Shape{3, 27, 41} : Shape{3, 41, 27};
  return graph.add_op("op", p, {input(graph, "a", a), input(graph, "b", b)});
}

// Two offset groups.
template <bool masked>
Tensor deformed(Graph& graph) {
  fbs::DeformConv2dT p;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1;
  p.offset_groups = 2;
  std::vector<Tensor> inputs = {input(graph, "x", {2, 17, 24, 40}), constant(graph, "w", {30, 3, 3, 40}),
                                constant(graph, "b", {30}), input(graph, "offsets", {2, 17, 24, 36})};
  if (masked) inputs.push_back(input(graph, "mask", {2, 17, 24, 18}));
  return graph.add_op("op", p, inputs);
}

inline std::vector<Tensor> mixture_inputs(Graph& graph, int32_t channels, int32_t hidden) {
  return {input(graph, "x", {2, 5, channels}),
          graph.add_input("chosen", {2, 5, 6}, fbs::Layout::Same, fbs::DType::Int32),
          input(graph, "shares", {2, 5, 6}),
          constant(graph, "gate_up", {kExperts, 2 * hidden, channels}),
          constant(graph, "down", {kExperts, channels, hidden}),
          constant(graph, "bias", {kExperts, 2 * hidden}),
          constant(graph, "bias_down", {kExperts, channels})};
}

template <fbs::ExpertsActivation activation>
Tensor mixture(Graph& graph) {
  fbs::ExpertsT p;
  p.activation = activation;
  p.limit = 1.5f;
  return graph.add_op("op", p, mixture_inputs(graph, 76, 92));
}

inline Tensor mixture_of_bytes(Graph& graph) {
  const std::vector<Tensor> inputs = mixture_inputs(graph, 64, 96);
  for (size_t i = 3; i < 5; ++i) quantize_to_int8(graph, graph.at(inputs[i].id), kInt4Block);
  return graph.add_op("op", fbs::ExpertsT(), inputs);
}

inline Tensor causal_conv(Graph& graph) {
  fbs::CausalConv1dT p;
  p.state = graph.add_state("inputs", {2, 3, 22}, Graph::kFixed).index;
  return weighted(graph, p, {2, 7, 22}, {4, 22}, {22});
}

// Six heads on three query and key heads.
inline Tensor delta_rule(Graph& graph) {
  fbs::GatedDeltaRuleT p;
  p.state = graph.add_state("memory", {2, 2, 6, 10, 24}, Graph::kFixed).index;
  const Tensor inputs[] = {input(graph, "q", {2, 5, 30}), input(graph, "k", {2, 5, 30}), input(graph, "v", {2, 5, 144}),
                           input(graph, "g", {2, 5, 6}), input(graph, "beta", {2, 5, 6})};
  return graph.add_op("op", p, {std::begin(inputs), std::end(inputs)});
}

inline Tensor best_places(Graph& graph) {
  fbs::TopKT p;
  p.k = 6;
  return graph.add_op("op", p, {input(graph, "x", {2, 5, 301})});
}

inline Tensor smallest_values(Graph& graph) {
  fbs::TopKT p;
  p.k = 6;
  p.smallest = p.later = true;
  return graph.add_op_with_outputs("op", p, {input(graph, "x", {2, 5, 301})}, 2)[1];
}

inline Tensor elements_of_rows(Graph& graph) {
  fbs::GatherT p;
  p.kind = fbs::GatherKind::Elements;
  p.axis = 2;
  return graph.add_op(
      "op", p,
      {input(graph, "x", {2, 5, 301}), graph.add_input("places", {2, 5, 6}, fbs::Layout::Same, fbs::DType::Int32)});
}

template <fbs::ScatterKind kind>
Tensor updated_rows(Graph& graph) {
  fbs::ScatterT p;
  p.axis = 2;
  p.kind = kind;
  return graph.add_op(
      "op", p,
      {input(graph, "x", {2, 5, 30}), graph.add_input("places", {2, 5, 6}, fbs::Layout::Same, fbs::DType::Int32),
       input(graph, "updates", {2, 5, 6})});
}

template <bool interleaved>
Tensor rotary_embedding(Graph& graph) {
  fbs::RotaryEmbeddingT p;
  p.heads = 3;
  p.interleaved = interleaved;
  return graph.add_op(
      "op", p, {input(graph, "x", {2, 9, 30}), constant(graph, "cos", {9, 10}), constant(graph, "sin", {9, 10})});
}

template <typename Params>
Params windows() {
  Params p;
  p.window_h = 2;
  p.window_w = 3;
  p.shift_h = 1;
  p.shift_w = 2;
  return p;
}

inline Tensor window_partition(Graph& graph) {
  return graph.add_op("op", windows<fbs::WindowPartitionT>(), {input(graph, "x", {3, 10, 15, 22})});
}

inline Tensor window_reverse(Graph& graph) {
  auto p = windows<fbs::WindowReverseT>();
  p.height = 10;
  p.width = 15;
  return graph.add_op("op", p, {input(graph, "x", {75, 6, 22})});
}

inline Tensor upscaled(Graph& graph) {
  fbs::Resize2dT p;
  p.kind = fbs::ResizeKind::Bicubic;
  p.height = 31;
  p.width = 18;
  p.align_corners = true;
  return graph.add_op("op", p, {input(graph, "x", {2, 11, 13, 22})});
}

}  // namespace ferry::testing
