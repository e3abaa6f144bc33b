// Normalizations with a sum, an embedding or an activation.
#include "converter/onnx/ops/microsoft/microsoft.h"

namespace ferry::onnx::microsoft {
namespace {

constexpr double kSkipEpsilon = 1e-12;  // default of the Skip and Embed forms

Attributes last_axis(Op& op, double epsilon) {
  return {{"axis", attribute(int64_t{-1})}, {"epsilon", attribute(op.number("epsilon", epsilon))}};
}

// input + skip + bias, also output 3, which `normalized` computes output 0 from.
void skip_norm(Op& op, size_t bias, OpFunction function, const std::vector<Argument>& parameters) {
  Tensor sum = op.tensor(0) + op.tensor(1);
  if (op.has(bias)) sum = sum + op.tensor(bias);
  std::vector<Argument> inputs = {sum};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  op.set(0, call(op, function, inputs, last_axis(op, kSkipEpsilon)));
  op.set(3, sum);
}

// Group normalization of [N,C,H,W], or [N,H,W,C] with channels_last, which is the default, then SiLU with activation 1.
Tensor normalize_groups(Op& op, Tensor x) {
  const bool last = op.integer("channels_last", 1) != 0;
  const int64_t activation = op.integer("activation", 0);
  if (activation != 0 && activation != 1)
    op.refuse("attribute 'activation' is %lld, expected 0 (none) or 1 (SiLU)", static_cast<long long>(activation));
  const Attributes attributes = {{"num_groups", attribute(op.integer("groups", 0))},
                                 {"epsilon", attribute(op.number("epsilon", 1e-5))}};
  const Tensor y = call(op, onnx::group_normalization,
                        {last ? channels_to_front(x) : x, argument(op, 1), argument(op, 2)}, attributes);
  const Tensor z = last ? channels_to_back(y) : y;
  return activation == 1 ? unary(z, fbs::UnaryKind::Silu) : z;
}

}  // namespace

void skip_layer_normalization(Op& op) {
  skip_norm(op, 4, onnx::layer_normalization, {argument(op, 2), argument(op, 3)});
}

void skip_simplified_layer_normalization(Op& op) { skip_norm(op, 3, onnx::rms_normalization, {argument(op, 2)}); }

// The sum of the embeddings of words, positions and segments, normalized. Without position_ids, position i is i.
void embed_layer_normalization(Op& op) {
  const Dims ids = op.dims(0);
  if (ids.size() != 2) op.refuse("input_ids are %s, expected two dimensions", to_string(ids).c_str());
  const auto embedded = [&](size_t table, const Argument& indices) {
    return call(op, onnx::gather, {argument(op, table), indices}, {});
  };
  Tensor sum = embedded(2, argument(op, 0));
  if (op.has(8)) {
    sum = sum + embedded(3, argument(op, 8));
  } else {
    if (op.rank(3) != 2 || op.dims(3)[0] < ids[1])
      op.refuse("%lld positions, the embedding is %s", static_cast<long long>(ids[1]), to_string(op.dims(3)).c_str());
    sum = sum + ferry::slice(op.tensor(3), 0, 0, static_cast<int>(ids[1]));
  }
  if (op.has(1) != op.has(4)) op.refuse("segment_ids and segment_embedding are only allowed together");
  if (op.has(1)) sum = sum + embedded(4, argument(op, 1));
  op.set(0, call(op, onnx::layer_normalization, {sum, argument(op, 5), argument(op, 6)}, last_axis(op, kSkipEpsilon)));
  if (op.wants(1) && op.has(7))
    op.set(1, reduce(op.tensor(7), fbs::ReduceKind::Sum, {1}, false), Type::Int32);
  else if (op.wants(1))
    op.set(1,
           make_array(Type::Int32, {ids[0]}, std::vector<int64_t>(static_cast<size_t>(count_computed({ids[0]})), 0)));
  op.set(2, sum);
}

void group_norm(Op& op) { op.set(normalize_groups(op, op.tensor(0))); }

void skip_group_norm(Op& op) {
  const Tensor x = op.tensor(0);
  const bool last = op.integer("channels_last", 1) != 0;
  // A vector per sample, [N,C], or per channel, [C], applies to all positions.
  const auto spread = [&](size_t input) {
    Dims dims = op.dims(input);
    if (dims.size() != 1 && dims.size() != 2) return op.tensor(input);
    if (dims.size() == 1) dims.insert(dims.begin(), 1);
    const Dims to = last ? Dims{dims[0], 1, 1, dims[1]} : Dims{dims[0], dims[1], 1, 1};
    return reshape_to(op.tensor(input), to);
  };
  Tensor sum = x + spread(3);
  if (op.has(4)) sum = sum + spread(4);
  op.set(0, normalize_groups(op, sum));
  op.set(1, sum);
}

void gated_rms_norm(Op& op) {
  const Dims dims = op.dims(0), scale = op.dims(1);
  if (dims.empty() || scale.size() != 1 || scale[0] < 1 || dims.back() % scale[0] != 0)
    op.refuse("a scale of %s for an input of %s", to_string(scale).c_str(), to_string(dims).c_str());
  Dims groups(dims.begin(), dims.end() - 1);
  groups.insert(groups.end(), {dims.back() / scale[0], scale[0]});
  const Tensor y =
      call(op, onnx::rms_normalization, {reshape_to(op.tensor(0), groups), argument(op, 1)}, last_axis(op, 1e-5));
  op.set(reshape_to(y, dims) * unary(op.tensor(2), fbs::UnaryKind::Silu));
}

}  // namespace ferry::onnx::microsoft
