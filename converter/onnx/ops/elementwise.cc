// Unary elementwise functions: folded by the C library for constants, operators for activations.
#include <algorithm>
#include <cmath>

#include "converter/onnx/ops/evaluate.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

using Unary = fbs::UnaryKind;

void function(Op& op, double (*of_constants)(double), Unary kind) {
  if (op.known())
    op.set(map(op.array(0, "X"), of_constants));
  else
    op.set(unary(op.tensor(0), kind));
}

double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }  // as Unary: NaN propagates

}  // namespace

void abs(Op& op) { function(op, std::fabs, Unary::Abs); }
void neg(Op& op) {
  function(
      op, [](double x) { return -x; }, Unary::Neg);
}
void exp(Op& op) { function(op, std::exp, Unary::Exp); }
void log(Op& op) { function(op, std::log, Unary::Log); }
void sqrt(Op& op) { function(op, std::sqrt, Unary::Sqrt); }
void tanh(Op& op) { function(op, std::tanh, Unary::Tanh); }
void sigmoid(Op& op) {
  function(
      op, [](double x) { return 1 / (1 + std::exp(-x)); }, Unary::Sigmoid);
}
void hard_swish(Op& op) {
  function(
      op, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }, Unary::HardSwish);
}
void floor(Op& op) { function(op, std::floor, Unary::Floor); }
void ceil(Op& op) { function(op, std::ceil, Unary::Ceil); }
void round(Op& op) { function(op, std::nearbyint, Unary::Round); }  // to nearest even, the default mode
void erf(Op& op) { function(op, std::erf, Unary::Erf); }
void sin(Op& op) { function(op, std::sin, Unary::Sin); }
void cos(Op& op) { function(op, std::cos, Unary::Cos); }
void tan(Op& op) { function(op, std::tan, Unary::Tan); }
void sign(Op& op) { function(op, sign_of, Unary::Sign); }

void reciprocal(Op& op) {
  if (op.known())
    op.set(map(op.array(0, "X"), [](double x) { return 1 / x; }));
  else
    op.set(binary(fbs::BinaryKind::Div, scalar(op.tensor(0), 1), op.tensor(0)));
}

void logical_not(Op& op) {
  if (op.known())
    op.set(map(op.array(0, "X"), [](double x) { return x == 0 ? 1.0 : 0.0; }));
  else
    op.set(unary(op.tensor(0), Unary::Not));
}

void is_nan(Op& op) {
  if (op.known())
    op.set(cast(map(op.array(0, "X"), [](double x) { return std::isnan(x) ? 1.0 : 0.0; }), Type::Bool));
  else
    op.set(unary(op.tensor(0), Unary::IsNaN), Type::Bool);
}

void is_inf(Op& op) {
  const auto positive = static_cast<double>(op.integer("detect_positive", 1));
  const auto negative = static_cast<double>(op.integer("detect_negative", 1));
  const auto test = [&](double x) { return std::isinf(x) && (x > 0 ? positive : negative) != 0 ? 1.0 : 0.0; };
  if (op.known())
    op.set(cast(map(op.array(0, "X"), test), Type::Bool));
  else
    op.set(unary(op.tensor(0), Unary::IsInf, positive, negative), Type::Bool);
}

}  // namespace ferry::onnx
