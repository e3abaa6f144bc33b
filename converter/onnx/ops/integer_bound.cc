#include "converter/onnx/ops/integer_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferry::onnx {
namespace {

constexpr double kUnknown = 0x1p31;
// Operators and blocks of constants that one bound may look at: expressions whose parts are used twice would otherwise
// take exponential work.
constexpr int kBudget = 4096;

double largest(const std::vector<double>& values) {
  double bound = 0;
  for (const double v : values) bound = std::max(bound, std::fabs(v));
  return bound;
}

// Bounds of the tensors of one graph; all are unknown once the budget is spent.
class Bounds {
 public:
  explicit Bounds(const Graph& graph) : graph_(graph) {}

  double of(TensorId tensor) {
    constexpr int kBlock = 1024;
    if (graph_.is_constant(tensor)) {
      const std::vector<double> values = graph_.values(tensor);
      return spend(1 + static_cast<int>(values.size() / kBlock)) ? largest(values) : kUnknown;
    }
    const fbs::OperatorT* op = producer(tensor);
    return op ? of_output(*op) : kUnknown;
  }

 private:
  bool spend(int cost) {
    budget_ -= std::min(budget_, cost);
    return budget_ > 0;
  }

  // The nearest operators are the last ones.
  const fbs::OperatorT* producer(TensorId tensor) {
    const auto& operators = graph_.table.operators;
    for (auto op = operators.rbegin(); op != operators.rend() && spend(1); ++op)
      if (std::count((*op)->outputs.begin(), (*op)->outputs.end(), tensor) > 0) return op->get();
    return nullptr;
  }

  double of_binary(const fbs::OperatorT& op) {
    using Kind = fbs::BinaryKind;
    const auto input = [&](size_t i) { return of(op.inputs[i]); };
    switch (op.params.AsBinary()->kind) {
      case Kind::Add:
      case Kind::Sub: return input(0) + input(1);
      case Kind::Mul: return input(0) * input(1);
      case Kind::Div:  // a floating-point divisor may be below 1
        if (graph_.dtype(op.inputs[0]) != fbs::DType::Int32) break;
        return input(0);
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

  double of_unary(const fbs::OperatorT& op) {
    using Kind = fbs::UnaryKind;
    const fbs::UnaryT& unary = *op.params.AsUnary();
    const double limits =
        std::max(std::fabs(static_cast<double>(unary.alpha)), std::fabs(static_cast<double>(unary.beta)));
    switch (unary.kind) {
      case Kind::Clamp: return std::min(limits, of(op.inputs[0]));
      case Kind::Abs:
      case Kind::Neg: return of(op.inputs[0]);
      case Kind::Floor:
      case Kind::Ceil:
      case Kind::Round: return of(op.inputs[0]) + 1;
      case Kind::Sigmoid:
      case Kind::Tanh:
      case Kind::Sign:
      case Kind::Not:
      case Kind::IsNaN:
      case Kind::IsInf: return 1;
      default: return kUnknown;
    }
  }

  double of_output(const fbs::OperatorT& op) {
    switch (op.params.type) {
      case fbs::OpParams::Unary: return of_unary(op);
      case fbs::OpParams::Binary: return of_binary(op);
      case fbs::OpParams::Reshape:
      case fbs::OpParams::Transpose:
      case fbs::OpParams::Slice:
      case fbs::OpParams::Gather:
      case fbs::OpParams::Cast: return of(op.inputs[0]);
      case fbs::OpParams::Select: return std::max(of(op.inputs[1]), of(op.inputs[2]));
      case fbs::OpParams::TopK: {  // positions
        const Shape from = graph_.shape(op.inputs[0]);
        return static_cast<double>(from[from.rank - 1]);
      }
      case fbs::OpParams::Concat: {
        double bound = 0;
        for (const TensorId input : op.inputs) bound = std::max(bound, of(input));
        return bound;
      }
      default: return kUnknown;
    }
  }

  const Graph& graph_;
  int budget_ = kBudget;
};

}  // namespace

double integer_bound(Tensor x) { return std::min(Bounds(*x.graph).of(x.id), kUnknown); }

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
