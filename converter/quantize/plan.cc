#include "converter/quantize/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sdk/operators/operators.h"

namespace ferry::int8 {
namespace {

using fbs::OpParams;
using fbs::UnaryKind;

// A concatenation of values of such different sizes would leave the small ones a few integers: a detector's boxes and
// scores.
constexpr double kMaxScaleRatio = 8;

bool has_integer_form(fbs::BinaryKind kind) {
  return kind == fbs::BinaryKind::Add || kind == fbs::BinaryKind::Sub || kind == fbs::BinaryKind::Mul;
}

bool fits_one_scale(const fbs::OperatorT& op, const Distributions& distributions) {
  double narrow = INFINITY, wide = 0;
  for (const TensorId t : op.inputs) {
    const Distribution& d = distributions[t];
    const double width = std::max(static_cast<double>(d.max), 0.0) - std::min(static_cast<double>(d.min), 0.0);
    narrow = std::min(narrow, width);
    wide = std::max(wide, width);
  }
  return wide <= narrow * kMaxScaleRatio;
}

}  // namespace

Role role_of(const fbs::OperatorT& op) {
  switch (op.params.type) {
    case OpParams::Conv2d:
    case OpParams::Linear: return Role::Weighted;
    case OpParams::Binary: return has_integer_form(op.params.AsBinary()->kind) ? Role::Arithmetic : Role::Float;
    case OpParams::Reduce: return op.params.AsReduce()->kind == fbs::ReduceKind::Mean ? Role::Arithmetic : Role::Float;
    case OpParams::Pool2d: return op.params.AsPool2d()->kind == fbs::PoolKind::Max ? Role::Mover : Role::Arithmetic;
    case OpParams::Unary: {
      const UnaryKind kind = op.params.AsUnary()->kind;
      const bool is_number = kind != UnaryKind::Not && kind != UnaryKind::IsNaN && kind != UnaryKind::IsInf;
      return is_number ? Role::Table : Role::Float;
    }
    case OpParams::Resize2d:
      return op.params.AsResize2d()->kind == fbs::ResizeKind::Nearest ? Role::Mover : Role::Float;
    case OpParams::Pad: return std::isfinite(op.params.AsPad()->value) ? Role::Mover : Role::Float;
    case OpParams::Reshape:
    case OpParams::Transpose:
    case OpParams::Slice:
    case OpParams::Concat:
    case OpParams::PixelShuffle: return Role::Mover;
    default: return Role::Float;
  }
}

size_t value_inputs(const fbs::OperatorT& op) {
  return may_be_sized_by_input(op.params.type) ? 1 : has_weight(op.params.type) ? 1 : op.inputs.size();
}

PerTensor<size_t> producers_of(const Graph& graph) {
  const auto& operators = graph.table.operators;
  PerTensor<size_t> out(graph.table.tensors.size(), operators.size());
  for (size_t i = 0; i < operators.size(); ++i)
    for (const TensorId t : operators[i]->outputs) out[t] = i;
  return out;
}

std::vector<Role> roles_of(const Graph& graph, const Distributions& distributions) {
  std::vector<Role> out;
  const auto measured = [&](TensorId t) { return distributions[t].observed && distributions[t].finite; };
  for (const auto& op : graph.table.operators) {
    Role role = role_of(*op);
    if (op->outputs.size() != 1 || !measured(op->outputs.front())) role = Role::Float;
    for (size_t i = 0; i < value_inputs(*op); ++i)
      if (!measured(op->inputs[i])) role = Role::Float;
    if (role == Role::Mover && op->params.type == OpParams::Concat && !fits_one_scale(*op, distributions))
      role = Role::Float;
    out.push_back(role);
  }
  return out;
}

ScaleGroups::ScaleGroups(const Graph& graph, const std::vector<Role>& roles) : groups_(graph.table.tensors.size()) {
  // A union-find forest over the tensors.
  std::vector<size_t> parent(groups_.size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto root = [&](size_t t) {
    while (parent[t] != t) t = parent[t] = parent[parent[t]];
    return t;
  };
  const auto& operators = graph.table.operators;
  for (size_t i = 0; i < operators.size(); ++i) {
    if (roles[i] != Role::Mover) continue;
    const size_t output = index_of(operators[i]->outputs.front());
    for (size_t j = 0; j < value_inputs(*operators[i]); ++j)
      parent[root(index_of(operators[i]->inputs[j]))] = root(output);
  }
  std::vector<size_t> number(groups_.size(), SIZE_MAX);
  for (const TensorId t : float_activations(graph)) {
    size_t& group = number[root(index_of(t))];
    if (group == SIZE_MAX) {
      group = members_.size();
      members_.emplace_back();
    }
    members_[group].push_back(t);
    groups_[t] = group;
  }
}

PerTensor<std::optional<Range>> bounds_of(const Graph& graph) {
  PerTensor<std::optional<Range>> out(graph.table.tensors.size());
  const auto clamp = [](float low, float high) -> std::optional<Range> {
    if (!std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
    return Range{static_cast<double>(low), static_cast<double>(high)};
  };
  for (const auto& op : graph.table.operators) {
    std::optional<Range>& bounds = out[op->outputs.front()];
    if (const auto* conv = op->params.AsConv2d()) bounds = clamp(conv->output_min, conv->output_max);
    if (const auto* linear = op->params.AsLinear()) bounds = clamp(linear->output_min, linear->output_max);
    if (const auto* binary = op->params.AsBinary()) bounds = clamp(binary->output_min, binary->output_max);
    if (op->params.type == OpParams::Softmax) bounds = Range{0, 1};
    if (const auto* unary = op->params.AsUnary()) {
      if (unary->kind == UnaryKind::Clamp) bounds = clamp(unary->alpha, unary->beta);
      if (unary->kind == UnaryKind::Sigmoid || unary->kind == UnaryKind::HardSigmoid) bounds = Range{0, 1};
      if (unary->kind == UnaryKind::Tanh) bounds = Range{-1, 1};
    }
  }
  if (const auto& preprocess = graph.table.preprocess) {
    Range pixels{INFINITY, -INFINITY};
    for (size_t c = 0; c < std::max<size_t>(preprocess->std.size(), 1); ++c) {
      const double mean = preprocess->mean.empty() ? 0 : static_cast<double>(preprocess->mean[c]);
      const double deviation = preprocess->std.empty() ? 1 : static_cast<double>(preprocess->std[c]);
      pixels = joined(pixels, {-mean / deviation, (1 - mean) / deviation});
    }
    out[graph.table.inputs.front()->tensor] = pixels;
  }
  return out;
}

std::vector<bool> integer_operators(const Graph& graph, const std::vector<Role>& roles,
                                    const std::vector<bool>& released) {
  PerTensor<bool> integer(graph.table.tensors.size());
  std::vector<bool> out;
  for (size_t i = 0; i < roles.size(); ++i) {
    const fbs::OperatorT& op = *graph.table.operators[i];
    const auto begin = op.inputs.begin(), end = begin + static_cast<std::ptrdiff_t>(value_inputs(op));
    const auto is_integer = [&](TensorId t) { return integer[t]; };
    bool computes = roles[i] != Role::Float && !released[i];
    // An operator that would only be surrounded by conversions gains nothing.
    if (roles[i] == Role::Mover) computes = computes && std::all_of(begin, end, is_integer);
    if (roles[i] == Role::Arithmetic || roles[i] == Role::Table)
      computes = computes && std::any_of(begin, end, is_integer);
    integer[op.outputs.front()] = computes;
    out.push_back(computes);
  }
  return out;
}

}  // namespace ferry::int8
