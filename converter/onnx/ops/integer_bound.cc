#include "converter/onnx/ops/integer_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferry::onnx {
namespace {

constexpr double kUnknown = 0x1p31;
constexpr int kMaxDepth = 16;

double largest(const std::vector<double>& values) {
  double bound = 0;
  for (const double v : values) bound = std::max(bound, std::fabs(v));
  return bound;
}

const fbs::OperatorT* producer(const Graph& graph, TensorId tensor) {
  for (const auto& op : graph.table.operators)
    if (std::count(op->outputs.begin(), op->outputs.end(), tensor) > 0) return op.get();
  return nullptr;
}

double bound_of(const Graph& graph, TensorId tensor, int depth);

double bound_of_binary(const Graph& graph, const fbs::OperatorT& op, int depth) {
  using Kind = fbs::BinaryKind;
  const auto input = [&](size_t i) { return bound_of(graph, op.inputs[i], depth); };
  switch (op.params.AsBinary()->kind) {
    case Kind::Add:
    case Kind::Sub: return input(0) + input(1);
    case Kind::Mul: return input(0) * input(1);
    case Kind::Div:
    case Kind::FMod: return input(0);
    case Kind::Mod: return input(1);
    case Kind::Equal:
    case Kind::Less:
    case Kind::LessOrEqual:
    case Kind::And:
    case Kind::Or:
    case Kind::Xor: return 1;
    case Kind::Max:
    case Kind::Min: return std::max(input(0), input(1));
    case Kind::PRelu:
    case Kind::Pow: break;
  }
  return kUnknown;
}

double bound_of_unary(const Graph& graph, const fbs::OperatorT& op, int depth) {
  using Kind = fbs::UnaryKind;
  const fbs::UnaryT& unary = *op.params.AsUnary();
  const double limits =
      std::max(std::fabs(static_cast<double>(unary.alpha)), std::fabs(static_cast<double>(unary.beta)));
  switch (unary.kind) {
    case Kind::Clamp: return std::min(limits, bound_of(graph, op.inputs[0], depth));
    case Kind::Abs:
    case Kind::Neg: return bound_of(graph, op.inputs[0], depth);
    case Kind::Floor:
    case Kind::Ceil:
    case Kind::Round: return bound_of(graph, op.inputs[0], depth) + 1;
    case Kind::Sigmoid:
    case Kind::Tanh:
    case Kind::Sign:
    case Kind::Not:
    case Kind::IsNaN:
    case Kind::IsInf: return 1;
    default: return kUnknown;
  }
}

double bound_of(const Graph& graph, TensorId tensor, int depth) {
  if (graph.is_constant(tensor)) return largest(graph.values(tensor));
  const fbs::OperatorT* op = producer(graph, tensor);
  if (!op || depth == kMaxDepth) return kUnknown;
  const auto input = [&](size_t i) { return bound_of(graph, op->inputs[i], depth + 1); };
  switch (op->params.type) {
    case fbs::OpParams::Unary: return bound_of_unary(graph, *op, depth + 1);
    case fbs::OpParams::Binary: return bound_of_binary(graph, *op, depth + 1);
    case fbs::OpParams::Reshape:
    case fbs::OpParams::Transpose:
    case fbs::OpParams::Slice:
    case fbs::OpParams::Gather:
    case fbs::OpParams::Cast: return input(0);
    case fbs::OpParams::Select: return std::max(input(1), input(2));
    case fbs::OpParams::TopK:
      if (tensor == op->outputs[0]) return input(0);
      return static_cast<double>(graph.shape(op->inputs[0])[graph.shape(op->inputs[0]).rank - 1]);
    case fbs::OpParams::Concat: {
      double bound = 0;
      for (size_t i = 0; i < op->inputs.size(); ++i) bound = std::max(bound, input(i));
      return bound;
    }
    default: return kUnknown;
  }
}

}  // namespace

double integer_bound(Tensor x) { return std::min(bound_of(*x.graph, x.id, 0), kUnknown); }

void refuse_large_product(Op& op) {
  constexpr double kLarge = 0x1p15;
  if (op.type(0) != Type::Int64 && op.type(0) != Type::UInt64) return;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    if (!op.known(i) || op.known(1 - i)) continue;
    const double factor = largest(op.array(i, "the factor").floats());
    if (factor >= kLarge && factor * integer_bound(op.tensor(1 - i)) >= kUnknown)
      op.refuse("a product of 64-bit integers with %.0f may exceed the 32 bits that are computed", factor);
  }
}

Tensor bound_in_32_bits(Op& op, size_t i) {
  if (!op.known(i) || op.type(i) != Type::Int64) return op.tensor(i);
  const Array& array = op.array(i, "the bound");
  std::vector<int64_t> values = array.ints();
  for (int64_t& v : values)
    v = std::clamp<int64_t>(v, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  return add_constant(op.graph(), op.node().name + ".bound", make_array(Type::Int64, array.dims, values));
}

}  // namespace ferry::onnx
