// Activation functions; those without an operator are composed.

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;
using Unary = fbs::UnaryKind;

}  // namespace

void relu(Op& op) {
  const Tensor x = op.tensor(0);
  const bool integers = x.dtype() == fbs::DType::Int32;
  op.set(integers ? binary(Binary::Max, x, scalar(x, 0)) : unary(x, Unary::Clamp, 0, kInfinity));
}
void leaky_relu(Op& op) { op.set(unary(op.tensor(0), Unary::LeakyRelu, op.number("alpha", 0.01))); }

void prelu(Op& op) { op.set(binary(Binary::PRelu, op.tensor(0), op.tensor(1))); }

void hard_sigmoid(Op& op) {
  const double alpha = op.number("alpha", 0.2), beta = op.number("beta", 0.5);
  const Tensor x = op.tensor(0);
  if (static_cast<float>(alpha) == 1.0f / 6 && beta == 0.5)
    op.set(unary(x, Unary::HardSigmoid));
  else
    op.set(unary(x * alpha + beta, Unary::Clamp, 0, 1));
}

namespace {

// alpha * (e^min(x,0) - 1), the negative part of ELU and similar functions.
Tensor negative_side(Tensor x, double alpha) {
  return (unary(unary(x, Unary::Clamp, -kInfinity, 0), Unary::Exp) + -1.0) * alpha;
}
Tensor positive_side(Tensor x) { return unary(x, Unary::Clamp, 0, kInfinity); }

}  // namespace

void elu(Op& op) {
  const Tensor x = op.tensor(0);
  op.set(positive_side(x) + negative_side(x, op.number("alpha", 1)));
}

void selu(Op& op) {
  const Tensor x = op.tensor(0);
  const double alpha = op.number("alpha", 1.67326319217681884765625),
               gamma = op.number("gamma", 1.05070102214813232421875);
  op.set((positive_side(x) + negative_side(x, alpha)) * gamma);
}

void celu(Op& op) {
  const Tensor x = op.tensor(0);
  const double alpha = op.number("alpha", 1);
  op.set(positive_side(x) + negative_side(x * (1 / alpha), alpha));
}

void softsign(Op& op) {
  const Tensor x = op.tensor(0);
  op.set(binary(Binary::Div, x, unary(x, Unary::Abs) + 1.0));
}

// x * tanh(ln(1 + e^x)) = x * n / (n + 2) with n = e^x (e^x + 2); beyond 20 the quotient is 1 in float32.
void mish(Op& op) {
  const Tensor x = op.tensor(0), u = unary(unary(x, Unary::Clamp, -kInfinity, 20), Unary::Exp);
  const Tensor n = u * (u + 2.0);
  op.set(x * binary(Binary::Div, n, n + 2.0));
}

namespace {

// x * sigmoid(alpha * x).
Tensor swish(Tensor x, double alpha) {
  return alpha == 1 ? unary(x, Unary::Silu) : x * unary(x * alpha, Unary::Sigmoid);
}

}  // namespace

void softplus(Op& op) { op.set(ferry::softplus(op.tensor(0))); }

void thresholded_relu(Op& op) {
  const Tensor x = op.tensor(0);
  op.set(select(binary(Binary::Less, scalar(x, op.number("alpha", 1)), x), x, scalar(x, 0)));
}

// x - bias above lambda, x + bias below -lambda, 0 between.
void shrink(Op& op) {
  const double bias = op.number("bias", 0), lambda = op.number("lambd", 0.5);
  const Tensor x = op.tensor(0);
  const Tensor below = select(binary(Binary::Less, x, scalar(x, -lambda)), x + bias, scalar(x, 0));
  op.set(select(binary(Binary::Less, scalar(x, lambda), x), x + -bias, below));
}

void swish(Op& op) { op.set(swish(op.tensor(0), op.number("alpha", 1))); }
void swiglu(Op& op) { op.set(swish(op.tensor(0), op.number("alpha", 1)) * op.tensor(1)); }

void gelu(Op& op) {
  const bool tanh = op.text("approximate", "none") == "tanh";
  op.set(unary(op.tensor(0), tanh ? Unary::GeluTanh : Unary::Gelu));
}

}  // namespace ferry::onnx
