// torch's MultiheadAttention treats samples as heads of one sample: values [L,B,H*D] become [L,B*H,D] before the
// attention and [L,B,H*D] after it.
#include <algorithm>
#include <numeric>

#include "converter/graph/ops.h"
#include "converter/onnx/patterns/graph_matcher.h"

namespace ferry::onnx {
namespace {

// The value above reshapes and transposes that cancel; nothing if they do not.
std::optional<TensorId> before_cancelling_moves(const GraphMatcher& m, TensorId tensor) {
  tensor = m.before_reshapes(tensor);
  std::vector<int32_t> order(static_cast<size_t>(m.shape(tensor).rank));
  std::iota(order.begin(), order.end(), 0);
  const std::vector<int32_t> unchanged = order;
  while (const fbs::OperatorT* turn = m.producer(tensor, fbs::OpParams::Transpose)) {
    for (int32_t& dim : order) dim = turn->params.AsTranspose()->perm[static_cast<size_t>(dim)];
    tensor = turn->inputs.front();
    if (order == unchanged) return tensor;
  }
  return order == unchanged ? std::optional(tensor) : std::nullopt;
}

// The value [L,B,C] that attention reads as [1,L,B*C].
std::optional<TensorId> samples_of(const GraphMatcher& m, TensorId tensor) {
  const Shape merged = m.shape(tensor);
  const std::optional<TensorId> source = before_cancelling_moves(m, tensor);
  if (!source) return {};
  const TensorId samples = m.before_reshapes(*source);
  const Shape shape = m.shape(samples);
  if (merged[0] != 1 || shape.rank != 3 || shape[0] != merged[1] || shape[1] < 2) return {};
  return samples;
}

// A linear layer of [L*B,C] between reshapes from and to [L,B,C] does not need them; without them, surrounding
// transposes cancel.
bool recognise_linear(GraphMatcher& m, size_t i) {
  const fbs::OperatorT& op = m.at(i);
  const fbs::OperatorT* linear = op.params.AsReshape() ? m.producer(op.inputs.front(), fbs::OpParams::Linear) : nullptr;
  const Shape output = m.shape(op.outputs.front());
  if (!linear || output.rank != 3 || m.shape(linear->outputs.front()) != Shape{output[0] * output[1], output[2]})
    return false;
  const Shape merged = m.shape(linear->inputs.front());
  const std::optional<TensorId> source = before_cancelling_moves(m, linear->inputs.front());
  const auto x = source ? m.reshaped_from(*source, Shape{output[0], output[1], merged[1]}) : std::nullopt;
  if (!x || !m.producer(*x, fbs::OpParams::Transpose)) return false;
  std::vector<Tensor> inputs = {m.tensor(*x)};
  for (size_t k = 1; k < linear->inputs.size(); ++k) inputs.push_back(m.tensor(linear->inputs[k]));
  m.rewrite(i, *linear->params.AsLinear(), inputs);
  return true;
}

}  // namespace

void recognise_batched_attention(GraphMatcher& m) {
  for (size_t i = 0; i < m.size(); ++i) {
    const fbs::OperatorT& op = m.at(i);
    if (recognise_linear(m, i) || !op.params.AsAttention()) continue;
    fbs::AttentionT params = *op.params.AsAttention();
    std::vector<TensorId> samples;
    for (size_t k = 0; k < 3; ++k)
      if (const auto found = samples_of(m, op.inputs[k])) samples.push_back(*found);
    const std::vector<TensorId> biases(op.inputs.begin() + 3, op.inputs.end());
    const auto has_samples = [&](TensorId bias) { return m.shape(bias)[0] != 1; };
    if (samples.size() != 3 || std::any_of(biases.begin(), biases.end(), has_samples)) continue;
    const int32_t batch = m.shape(samples[0])[1];
    if (m.shape(samples[1])[1] != batch || m.shape(samples[2])[1] != batch || params.heads != params.kv_heads ||
        params.heads % batch != 0)
      continue;
    params.heads = params.kv_heads = params.heads / batch;
    const Shape output = m.shape(op.outputs.front());
    std::vector<Tensor> inputs;
    for (const TensorId value : samples) inputs.push_back(transpose(m.tensor(value), {1, 0, 2}));
    for (const TensorId bias : biases) {
      const Shape s = m.shape(bias);
      inputs.push_back(s[1] == 1 ? m.tensor(bias) : reshape(m.tensor(bias), {batch, params.heads, s[2], s[3]}));
    }
    fbs::ReshapeT merge;
    merge.shape.assign(output.dims.begin(), output.dims.begin() + output.rank);
    m.rewrite(i, merge, {transpose(m.graph().add_op(op.name, params, inputs), {1, 0, 2})});
  }
}

}  // namespace ferry::onnx
