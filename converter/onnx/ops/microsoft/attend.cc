// Attention from queries, keys and values: one operator, or the scores step by step where they are an output.
#include <cmath>

#include "converter/onnx/ops/microsoft/microsoft.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx::microsoft {
namespace {

// -infinity for keys that a causal query with a window does not see: [1,1,L,S].
Tensor causal_bias(Op& op, const Heads& h, int64_t queries, int64_t keys) {
  std::vector<double> bias(static_cast<size_t>(count_computed({queries, keys})), 0.0);
  for (int64_t i = 0; i < queries; ++i) {
    const int64_t last = keys - queries + i;
    for (int64_t k = 0; k < keys; ++k)
      if (k > last || (h.window > 0 && k <= last - h.window)) bias[static_cast<size_t>(i * keys + k)] = -kInfinity;
  }
  return add_constant(op.graph(), op.node().name + ".causal", make_array(Type::Float32, {1, 1, queries, keys}, bias));
}

// The scores as values of the graph.
Tensor attend_by_scores(Op& op, const Heads& h, Scores wanted, std::optional<Tensor>* out) {
  const Tensor q = swap_heads(h.q);
  Tensor k = swap_heads(h.k), v = swap_heads(h.v);
  const Dims qd = dims_of(q), kd = dims_of(k);
  if (qd[1] != kd[1]) {  // query head i reads key head i / (heads / kv_heads)
    std::vector<int64_t> shared;
    for (int64_t i = 0; i < qd[1]; ++i) shared.push_back(i / (qd[1] / kd[1]));
    k = pick(op, k, 1, shared);
    v = pick(op, v, 1, shared);
  }
  Tensor scores = multiply(op, q, k, false, true) * h.scale;
  if (h.softcap > 0) scores = unary(scores * (1 / h.softcap), fbs::UnaryKind::Tanh) * h.softcap;
  for (const Tensor& bias : h.biases) scores = scores + bias;
  if (h.causal) scores = scores + causal_bias(op, h, qd[2], kd[2]);
  if (wanted == Scores::BeforeSoftmax) *out = scores;
  if (h.sinks) {
    const Dims column = {qd[0], qd[1], qd[2], 1};
    const Tensor zeros = scalar(scores, 0) * ferry::slice(scores, 3, 0, 1);
    scores = ferry::concat({scores, reshape_to(zeros + reshape_to(*h.sinks, {1, qd[1], 1, 1}), column)}, 3);
  }
  scores = ferry::softmax(scores);
  if (h.sinks) scores = ferry::slice(scores, 3, 0, static_cast<int>(kd[2]));
  if (wanted == Scores::AfterSoftmax) *out = scores;
  return joined_heads(swap_heads(multiply(op, scores, v)));
}

}  // namespace

Tensor attend(Op& op, const Heads& h, Scores wanted, std::optional<Tensor>* scores) {
  const Dims q = dims_of(h.q), k = dims_of(h.k), v = dims_of(h.v);
  if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || v[2] != k[2] || k[3] != q[3] || q[2] % k[2] != 0)
    op.refuse("attention of %s, %s and %s: they do not fit", to_string(q).c_str(), to_string(k).c_str(),
              to_string(v).c_str());
  constexpr size_t kMaxBiases = 2;  // of the operator
  if (wanted != Scores::None || h.biases.size() > kMaxBiases) return attend_by_scores(op, h, wanted, scores);
  fbs::AttentionT params;
  params.heads = to_int32({q[2]})[0];
  params.kv_heads = to_int32({k[2]})[0];
  params.scale = static_cast<float>(h.scale);
  params.softcap = static_cast<float>(h.softcap);
  params.causal = h.causal;
  params.window = h.causal ? to_int32({h.window})[0] : 0;
  params.sinks = h.sinks.has_value();
  std::vector<Tensor> inputs = {joined_heads(h.q), joined_heads(h.k), joined_heads(h.v)};
  inputs.insert(inputs.end(), h.biases.begin(), h.biases.end());
  if (h.sinks) inputs.push_back(*h.sinks);
  return op.graph().add_op("", params, inputs);
}

Tensor split_heads(Op& op, Tensor x, int64_t heads) {
  const Dims d = dims_of(x);
  if (d.size() != 3 || heads < 1 || d[2] % heads != 0)
    op.refuse("%s is split into %lld heads, expected three dimensions", to_string(d).c_str(),
              static_cast<long long>(heads));
  return reshape_to(x, {d[0], d[1], heads, d[2] / heads});
}

Tensor joined_heads(Tensor x) {
  const Dims d = dims_of(x);
  return reshape_to(x, {d[0], d[1], d[2] * d[3]});
}

Tensor swap_heads(Tensor x) { return ferry::transpose(x, {0, 2, 1, 3}); }

Tensor bias_where(Tensor condition, double filter) {
  const Tensor zero = condition.graph->add_constant("", Shape{1}, std::vector<double>{0});
  return select(condition, zero, scalar(zero, filter));
}

Tensor counted(Op& op, int64_t first, int64_t count, int after) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(first + i);
  Dims dims(static_cast<size_t>(after) + 1, 1);
  dims[0] = count;
  return add_constant(op.graph(), op.node().name + ".positions", make_array(Type::Int64, dims, values));
}

Tensor mask_bias(Op& op, size_t input, int64_t batch, int64_t queries, int64_t keys) {
  const Dims dims = op.dims(input);
  const Tensor mask = op.tensor(input);
  const double filter = op.number("mask_filter_value", -10000);
  const auto seen = [&](Tensor values) { return binary(fbs::BinaryKind::Less, scalar(values, 0), values); };
  if (dims == Dims{batch, keys}) return bias_where(seen(reshape_to(mask, {batch, 1, 1, keys})), filter);
  if (dims == Dims{batch, queries, keys}) return bias_where(seen(reshape_to(mask, {batch, 1, queries, keys})), filter);
  const Tensor positions = reshape_to(counted(op, 0, keys), {1, 1, 1, keys});
  const auto per_sample = [&](int64_t first) {
    return reshape_to(ferry::slice(mask, 0, static_cast<int>(first), static_cast<int>(batch)), {batch, 1, 1, 1});
  };
  if (dims == Dims{batch}) return bias_where(binary(fbs::BinaryKind::Less, positions, per_sample(0)), filter);
  if (dims == Dims{2 * batch}) {  // ends, then starts
    const Tensor before_end = binary(fbs::BinaryKind::Less, positions, per_sample(0));
    const Tensor from_start = binary(fbs::BinaryKind::LessOrEqual, per_sample(batch), positions);
    return bias_where(binary(fbs::BinaryKind::And, before_end, from_start), filter);
  }
  op.refuse("the mask '%s' is %s for %lld samples, %lld queries and %lld keys, expected [B], [2B], [B,S] or [B,L,S]",
            op.input_name(input).c_str(), to_string(dims).c_str(), static_cast<long long>(batch),
            static_cast<long long>(queries), static_cast<long long>(keys));
}

double score_scale(Op& op, int64_t size) {
  const double given = op.number("scale", 0);
  return given != 0 ? given : 1 / std::sqrt(static_cast<double>(size));
}

}  // namespace ferry::onnx::microsoft
