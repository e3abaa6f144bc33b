// Operators that patterns insert (converter/onnx/patterns).
#include <limits>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// An additive term of the scores as [b,h,l,S] for `heads` heads and `keys` keys.
Tensor as_bias(Op& op, size_t input, Dims dims, int64_t keys) {
  if (dims.size() < 4) dims.insert(dims.begin(), 4 - dims.size(), 1);
  if (dims.size() != 4 || dims[3] != keys)
    op.refuse("an additive term of the scores is %s", to_string(op.dims(input)).c_str());
  return reshape_to(op.tensor(input), dims);
}

}  // namespace

// q [B,H,L,D], k transposed [B,H,D,S], v [B,H,S,E]; a mask for groups of windows, with the shape of the scores when it
// is added; then additive terms. H may be absent: samples are then treated as heads of one sample, unless their number
// is open.
void ferry_attention(Op& op) {
  const Dims q = op.dims(0), k = op.dims(1), v = op.dims(2);
  const size_t rank = q.size();
  if ((rank != 3 && rank != 4) || k.size() != rank || v.size() != rank)
    op.refuse("attention of %s, %s and %s: expected three or four dimensions", to_string(q).c_str(),
              to_string(k).c_str(), to_string(v).c_str());
  const bool samples = rank == 4, one_head = !samples && op.leading_is_batch();
  const int64_t heads = samples ? q[1] : (one_head ? 1 : q[0]), batch = samples || one_head ? q[0] : 1;
  const int64_t length = q[rank - 2], size = q[rank - 1], keys = k[rank - 1], width = v[rank - 1];
  const Dims lead(q.begin(), q.end() - 2);
  if (Dims(k.begin(), k.end() - 2) != lead || Dims(v.begin(), v.end() - 2) != lead || k[rank - 2] != size ||
      v[rank - 2] != keys)
    op.refuse("attention of %s, %s and %s: they do not fit", to_string(q).c_str(), to_string(k).c_str(),
              to_string(v).c_str());
  const auto together = [&](Tensor x, const std::vector<int32_t>& with_samples, const std::vector<int32_t>& without,
                            int64_t tokens, int64_t each) {
    return reshape_to(transpose(x, samples ? with_samples : without), {batch, tokens, heads * each});
  };
  std::vector<Tensor> inputs = one_head
                                   ? std::vector<Tensor>{op.tensor(0), transpose(op.tensor(1), {0, 2, 1}), op.tensor(2)}
                                   : std::vector<Tensor>{together(op.tensor(0), {0, 2, 1, 3}, {1, 0, 2}, length, size),
                                                         together(op.tensor(1), {0, 3, 1, 2}, {2, 0, 1}, keys, size),
                                                         together(op.tensor(2), {0, 2, 1, 3}, {1, 0, 2}, keys, width)};
  std::optional<Tensor> mask;
  if (op.has(3)) {
    const Dims dims = op.dims(3);
    const Dims group =
        reshaped_dims(op, {batch, heads, length, keys}, op.array(4, "the shape of the scores").ints(), true);
    if (!samples || group.size() != 5 || group[2] != heads || group[3] != length || group[4] != keys ||
        dims.size() != 5 || dims[0] != 1 || dims[1] != group[1] || dims[2] != 1)
      op.refuse("the mask %s is added to scores of %s", to_string(dims).c_str(), to_string(group).c_str());
    mask = as_bias(op, 3, {dims[1], 1, dims[3], dims[4]}, keys);
  }
  std::optional<Tensor> bias;
  for (size_t i = 5; i < op.input_count(); ++i) {
    Dims dims = op.dims(i);
    if (one_head && dims.size() == 3) dims.insert(dims.begin() + 1, 1);
    const Tensor term = as_bias(op, i, dims, keys);
    bias = bias ? *bias + term : term;
  }
  if (bias) inputs.push_back(*bias);
  if (mask) inputs.push_back(*mask);
  fbs::AttentionT params;
  params.heads = params.kv_heads = static_cast<int32_t>(heads);
  params.scale = static_cast<float>(op.number("scale", 1));
  const Tensor y = op.graph().add_op("", params, inputs);
  if (one_head) return op.set(y);
  op.set(samples ? transpose(reshape_to(y, {batch, length, heads, width}), {0, 2, 1, 3})
                 : transpose(reshape_to(y, {length, heads, width}), {1, 0, 2}));
}

// Attention to the tokens of earlier runs as well (converter/onnx/cached_attention.h): q [1,H,L,D] or [H,L,D], new keys
// and values [1,G,L,D]; they are appended to the states that the next inputs, the past, become. `rank`: of the result.
void ferry_cached_attention(Op& op) {
  constexpr size_t kQuery = 0, kKey = 1, kValue = 2, kPastKey = 3, kPastValue = 4;
  if (!op.decoder() || op.input_count() != 5 || op.node().outputs.size() != 3)
    op.refuse("it is a node of language models");
  const Dims q = op.dims(kQuery), k = op.dims(kKey), v = op.dims(kValue);
  const size_t rank = q.size();
  if ((rank != 3 && (rank != 4 || q[0] != 1)) || k.size() != 4 || v.size() != 4 || k[0] != 1 || v[0] != 1 ||
      q[rank - 1] != k[3] || v[1] != k[1] || k[1] < 1 || q[rank - 3] % k[1] != 0)
    op.refuse("attention of %s, %s and %s: they do not fit", to_string(q).c_str(), to_string(k).c_str(),
              to_string(v).c_str());
  const int64_t heads = q[rank - 3], length = q[rank - 2];
  const auto joined = [](Tensor x, const Dims& d) {
    return reshape_to(transpose(reshape_to(x, {1, d[0], d[1], d[2]}), {0, 2, 1, 3}), {1, d[1], d[0] * d[2]});
  };
  const auto appended = [&](size_t fresh, size_t past) {
    const auto state = op.decoder()->states.find(op.input_name(past));
    if (state == op.decoder()->states.end()) op.refuse("input %zu is no cache of the file", past);
    const Dims d = op.dims(fresh);
    return ferry::append(joined(op.tensor(fresh), {d[1], d[2], d[3]}), state->second);
  };
  fbs::AttentionT params;
  params.heads = to_int32({heads})[0];
  params.kv_heads = to_int32({k[1]})[0];
  params.scale = static_cast<float>(op.number("scale", 1));
  params.causal = true;
  params.window = to_int32({op.integer("window", 0)})[0];
  const std::vector<Tensor> inputs = {joined(op.tensor(kQuery), {heads, length, q[rank - 1]}), appended(kKey, kPastKey),
                                      appended(kValue, kPastValue)};
  const Tensor y = transpose(reshape_to(op.graph().add_op("", params, inputs), {1, length, heads, v[3]}), {0, 2, 1, 3});
  op.set(0, op.integer("rank", 4) == 4 ? y : reshape_to(y, {heads, length, v[3]}));
  // The outputs of the cache are not read.
  for (const size_t i : {1, 2}) op.set(i, make_array(Type::Float32, {0}, std::vector<double>{}));
}

// Positions of this run's tokens, plus an offset, along one of `rank` dimensions.
void ferry_positions(Op& op) {
  if (!op.decoder()) op.refuse("it is a node of language models");
  const int64_t rank = op.integer("rank", 1), axis = op.integer("axis", 0);
  if (rank < 1 || rank > FERRY_MAX_RANK || axis < 0 || axis >= rank) op.refuse("it is a node of language models");
  const Tensor positions = *op.decoder()->positions;
  Dims dims(static_cast<size_t>(rank), 1);
  dims[static_cast<size_t>(axis)] = dims_of(positions)[1];
  const Tensor moved = reshape_to(positions + scalar(positions, static_cast<double>(op.integer("offset", 0))), dims);
  const auto type = static_cast<Type>(op.integer("type", 0));
  op.set(is_float(type) ? cast_to(moved, fbs::DType::Float32) : moved, type);
}

// -infinity where the condition equals attribute 'when', else 0.
void ferry_filled_places(Op& op) {
  if (!op.known(0)) {
    const Tensor when = op.number("when", 1) != 0 ? op.tensor(0) : unary(op.tensor(0), fbs::UnaryKind::Not);
    const Tensor none = op.graph().add_constant("", Shape{1}, std::vector<double>{0});
    return op.set(select(when, scalar(none, -std::numeric_limits<double>::infinity()), none), Type::Float32);
  }
  const Array& condition = op.array(0, "the condition");
  std::vector<double> values;
  for (const int64_t bit : condition.ints())
    values.push_back((bit != 0) == (op.number("when", 1) != 0) ? -std::numeric_limits<double>::infinity() : 0);
  op.set(make_array(Type::Float32, condition.dims, values));
}

// A mask of booleans, or of additive terms, as additive terms.
void ferry_mask_bias(Op& op) {
  if (op.type(0) == Type::Bool) return ferry_filled_places(op);
  op.set(op.value(0), op.type(0));
}

void ferry_gelu(Op& op) { op.set(unary(op.tensor(0), fbs::UnaryKind::Gelu)); }
void ferry_gelu_tanh(Op& op) { op.set(unary(op.tensor(0), fbs::UnaryKind::GeluTanh)); }
void ferry_silu(Op& op) { op.set(unary(op.tensor(0), fbs::UnaryKind::Silu)); }

}  // namespace ferry::onnx
