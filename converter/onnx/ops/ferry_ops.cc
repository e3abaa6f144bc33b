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
// is added; then additive terms. H may be absent: samples are then treated as heads of one sample.
void ferry_attention(Op& op) {
  const Dims q = op.dims(0), k = op.dims(1), v = op.dims(2);
  const size_t rank = q.size();
  if ((rank != 3 && rank != 4) || k.size() != rank || v.size() != rank)
    op.refuse("attention of %s, %s and %s: expected three or four dimensions", to_string(q).c_str(),
              to_string(k).c_str(), to_string(v).c_str());
  const bool samples = rank == 4;
  const int64_t heads = samples ? q[1] : q[0], batch = samples ? q[0] : 1;
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
  std::vector<Tensor> inputs = {together(op.tensor(0), {0, 2, 1, 3}, {1, 0, 2}, length, size),
                                together(op.tensor(1), {0, 3, 1, 2}, {2, 0, 1}, keys, size),
                                together(op.tensor(2), {0, 2, 1, 3}, {1, 0, 2}, keys, width)};
  std::optional<Tensor> mask;
  if (op.has(3)) {
    const Dims dims = op.dims(3), group = op.array(4, "the shape of the scores").ints();
    if (!samples || group.size() != 5 || group[2] != heads || group[3] != length || group[4] != keys ||
        dims.size() != 5 || dims[0] != 1 || dims[1] != group[1] || dims[2] != 1)
      op.refuse("the mask %s is added to scores of %s", to_string(dims).c_str(), to_string(group).c_str());
    mask = as_bias(op, 3, {dims[1], 1, dims[3], dims[4]}, keys);
  }
  std::optional<Tensor> bias;
  for (size_t i = 5; i < op.input_count(); ++i) {
    const Tensor term = as_bias(op, i, op.dims(i), keys);
    bias = bias ? *bias + term : term;
  }
  if (bias) inputs.push_back(*bias);
  if (mask) inputs.push_back(*mask);
  fbs::AttentionT params;
  params.heads = params.kv_heads = static_cast<int32_t>(heads);
  params.scale = static_cast<float>(op.number("scale", 1));
  const Tensor y = op.graph().add_op("", params, inputs);
  op.set(samples ? transpose(reshape_to(y, {batch, length, heads, width}), {0, 2, 1, 3})
                 : transpose(reshape_to(y, {length, heads, width}), {1, 0, 2}));
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

void ferry_gelu(Op& op) { op.set(unary(op.tensor(0), fbs::UnaryKind::Gelu)); }
void ferry_gelu_tanh(Op& op) { op.set(unary(op.tensor(0), fbs::UnaryKind::GeluTanh)); }
void ferry_silu(Op& op) { op.set(unary(op.tensor(0), fbs::UnaryKind::Silu)); }

}  // namespace ferry::onnx
