#include <cmath>
#include <numbers>

#include "converter/reference/ops.h"

namespace ferry::reference {
namespace {

double apply(const fbs::Unary& p, double x) {
  switch (p.kind()) {
    case fbs::UnaryKind::Clamp: return clamp(x, p.alpha(), p.beta());
    case fbs::UnaryKind::LeakyRelu: return x > 0 ? x : x * static_cast<double>(p.alpha());
    case fbs::UnaryKind::Sigmoid: return 1.0 / (1.0 + std::exp(-x));
    case fbs::UnaryKind::Tanh: return std::tanh(x);
    case fbs::UnaryKind::HardSwish: return x * clamp(x + 3.0, 0.0f, 6.0f) / 6.0;  // Howard et al. 2019, MobileNetV3
    case fbs::UnaryKind::Silu: return x / (1.0 + std::exp(-x));
    case fbs::UnaryKind::Gelu: return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case fbs::UnaryKind::HardSigmoid: return clamp(x + 3.0, 0.0f, 6.0f) / 6.0;
    case fbs::UnaryKind::GeluTanh:  // Hendrycks and Gimpel 2016, the approximation
      return 0.5 * x * (1.0 + std::tanh(std::numbers::inv_sqrtpi * std::numbers::sqrt2 * (x + 0.044715 * x * x * x)));
    case fbs::UnaryKind::Abs: return std::fabs(x);
    case fbs::UnaryKind::Neg: return -x;
    case fbs::UnaryKind::Exp: return std::exp(x);
    case fbs::UnaryKind::Sqrt: return std::sqrt(x);
    case fbs::UnaryKind::Square: return x * x;
  }
  return 0.0;
}

}  // namespace

void unary(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Unary& p = *op.params_as_Unary();
  for (size_t i = 0; i < output.values.size(); ++i) output.values[i] = apply(p, inputs[0]->values[i]);
}

}  // namespace ferry::reference
