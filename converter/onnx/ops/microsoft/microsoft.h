// Import functions of the domain com.microsoft, the operators that ONNX Runtime's optimizer and quantizer and Olive
// write; table.cc maps operators to functions. The contract of each operator is in ONNX Runtime's
// docs/ContribOperators.md.
#pragma once

#include <initializer_list>
#include <span>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx::microsoft {

// The rows of the domain, sorted by operator: supported and refused ones.
std::span<const OpRow> rows();

// ---- functions of the standard, called as functions of the same name in a formula

// A value with its type in the file. Unknown: an omitted optional input.
struct Argument {
  Value value;
  Type type = Type::Undefined;

  Argument() = default;
  Argument(Tensor tensor) : value(tensor), type(tensor.dtype() == fbs::DType::Int32 ? Type::Int32 : Type::Float32) {}
  Argument(Tensor tensor, Type t) : value(tensor), type(t) {}
  Argument(const Array& array) : value(array), type(array.type) {}
};
// Input i of the node; omitted if the node has none.
Argument argument(Op& op, size_t i);

using Attributes = std::map<std::string, Attribute>;
Attribute attribute(int64_t value);
Attribute attribute(double value);
Attribute attribute(const char* value);
Attribute attribute(const std::vector<int64_t>& values);

// The results of a function of the standard at opset 21. `attributes`: without them, those of the node.
std::vector<Argument> call_all(Op& op, OpFunction function, const std::vector<Argument>& inputs,
                               const Attributes& attributes, size_t outputs);
// The first result, as a value of the graph.
Tensor call(Op& op, OpFunction function, const std::vector<Argument>& inputs, const Attributes& attributes);
Tensor call(Op& op, OpFunction function, const std::vector<Argument>& inputs);
// The value of the graph; a constant is added to the graph.
Tensor tensor_of(Op& op, const Argument& argument);

// Imports the node as the same operator of the standard at opset 21.
void as_standard(Op& op, OpFunction function);
template <OpFunction function>
void standard(Op& op) {
  as_standard(op, function);
}

// ---- shared by several files

// activation.cc: the activation that fused operators name in an attribute; `parameters`: alpha, beta, gamma. "": none.
Tensor activated(Op& op, Tensor x, const std::string& name, const Attributes& parameters);
// fused.cc: [N,H,W,C] and back, for any number of spatial dimensions.
Tensor channels_to_front(Tensor x);
Tensor channels_to_back(Tensor x);
// Calls a function that computes on [N,C,...] for inputs and output [N,...,C], if attribute 'channels_last' or
// `always` says so. `function` receives the node with channels first.
void with_channels_first(Op& op, bool always, OpFunction function);

// attention.cc: softmax(scale * q k^T + biases) v. q is [B,L,heads,D], k [B,S,kv_heads,D], v [B,S,kv_heads,E].
struct Heads {
  Tensor q, k, v;
  double scale = 1;
  bool causal = false;          // query i of L attends to keys up to S - L + i
  int64_t window = 0;           // with causal: only to the last `window` of those
  double softcap = 0;           // above 0: softcap * tanh(scores / softcap)
  std::vector<Tensor> biases;   // [B or 1,H or 1,L or 1,S]
  std::optional<Tensor> sinks;  // [heads]: the score of an additional key whose value is 0
};
enum class Scores { None, BeforeSoftmax, AfterSoftmax };
// [B,L,heads*E]. `scores`: [B,heads,L,S], if wanted.
Tensor attend(Op& op, const Heads& heads, Scores wanted = Scores::None, std::optional<Tensor>* scores = nullptr);
// [B,L,H*D] as [B,L,H,D].
Tensor split_heads(Op& op, Tensor x, int64_t heads);
// The inverse.
Tensor joined_heads(Tensor x);
// Exchanges positions and heads: [B,L,H,D] and [B,H,L,D].
Tensor swap_heads(Tensor x);
// An additive mask: 0 where the condition (Int32) is not 0, else `filter`.
Tensor bias_where(Tensor condition, double filter);
// Int32 [first, first + 1, ..., first + count - 1] as [count] followed by `after` dimensions of 1.
Tensor counted(Op& op, int64_t first, int64_t count, int after = 0);
// The additive mask that an integer input says: 1 for visible keys, [B,S] or [B,L,S]; or the number of visible keys
// [B]; or the ends of the visible keys and their beginnings, [2B]. Masked scores get attribute 'mask_filter_value'.
Tensor mask_bias(Op& op, size_t input, int64_t batch, int64_t queries, int64_t keys);
// Scale attribute of an attention; 0 or absent: 1 / sqrt(size).
double score_scale(Op& op, int64_t size);

// activation.cc
void bias_add(Op& op);
void bias_dropout(Op& op);
void bias_gelu(Op& op);
void bias_softmax(Op& op);
void bitmask_dropout(Op& op);
void bias_split_gelu(Op& op);
void fast_gelu(Op& op);
void gated_add(Op& op);
void linear_attention_gate(Op& op);
void quick_gelu(Op& op);

// fused.cc
void fused_conv(Op& op);
void fused_gemm(Op& op);
void fused_matmul(Op& op);
void fused_matmul_activation(Op& op);
void gemm_fast_gelu(Op& op);
void nhwc_conv(Op& op);
void nhwc_fused_conv(Op& op);
void nhwc_max_pool(Op& op);

// norm.cc
void embed_layer_normalization(Op& op);
void gated_rms_norm(Op& op);
void group_norm(Op& op);
void skip_group_norm(Op& op);
void skip_layer_normalization(Op& op);
void skip_simplified_layer_normalization(Op& op);

// attention.cc
void attention(Op& op);
void qattention(Op& op);

// multi_head.cc
void multi_head_attention(Op& op);
void relative_position_bias(Op& op);

// group_query.cc
void group_query_attention(Op& op);

// rotary.cc
// The rows of a cache [M,W] at `positions` [B,L], known or computed, as [B,L,1,W].
Tensor rows_at(Op& op, size_t cache, const Argument& positions);
void rotary_embedding(Op& op);
void gemma_rotary_embedding(Op& op);

// weights.cc
void matmul_nbits(Op& op);
void matmul_bnb4(Op& op);
void gather_block_quantized(Op& op);

// quantized.cc
void dynamic_quantize_matmul(Op& op);
void matmul_integer_to_float(Op& op);
void mul_integer(Op& op);
void qgemm(Op& op);
void qlinear_add(Op& op);
void qlinear_average_pool(Op& op);
void qlinear_concat(Op& op);
void qlinear_conv(Op& op);
void qlinear_global_average_pool(Op& op);
void qlinear_leaky_relu(Op& op);
void qlinear_mul(Op& op);
void qlinear_reduce_mean(Op& op);
void qlinear_sigmoid(Op& op);
void qlinear_softmax(Op& op);
void qlinear_where(Op& op);
void reduce_sum_integer(Op& op);

// others.cc
void cdist(Op& op);
void complex_mul(Op& op);
void complex_mul_conj(Op& op);
void expand_dims(Op& op);
void irfft(Op& op);
void pad(Op& op);
void range(Op& op);
void rfft(Op& op);
void torch_embedding(Op& op);
void unfold_tensor(Op& op);

}  // namespace ferry::onnx::microsoft
