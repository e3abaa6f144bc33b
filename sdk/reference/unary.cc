#include <cmath>
#include <numbers>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

double apply(fbs::UnaryKind kind, float alpha, float beta, double x) {
  switch (kind) {
    case fbs::UnaryKind::Clamp: return clamp(x, alpha, beta);
    case fbs::UnaryKind::LeakyRelu: return x > 0 ? x : x * static_cast<double>(alpha);
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
    case fbs::UnaryKind::Log: return std::log(x);
    case fbs::UnaryKind::Floor: return std::floor(x);
    case fbs::UnaryKind::Ceil: return std::ceil(x);
    case fbs::UnaryKind::Round: return std::nearbyint(x);
    case fbs::UnaryKind::Sign: return x > 0 ? 1 : x < 0 ? -1 : x;
    case fbs::UnaryKind::Erf: return std::erf(x);
    case fbs::UnaryKind::Sin: return std::sin(x);
    case fbs::UnaryKind::Cos: return std::cos(x);
    case fbs::UnaryKind::Tan: return std::tan(x);
    case fbs::UnaryKind::Not: return x == 0;
    case fbs::UnaryKind::IsNaN: return std::isnan(x);
    case fbs::UnaryKind::IsInf: return std::isinf(x) && (x > 0 ? alpha : beta) != 0;
  }
  return 0.0;
}

}  // namespace

void unary(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Unary& p = *op.params_as_Unary();
  const fbs::UnaryKind kind = p.kind();
  const float alpha = p.alpha(), beta = p.beta();
  const bool integers = inputs[0]->dtype == fbs::DType::Int32;
  for (size_t i = 0; i < output.values.size(); ++i) {
    const double value = apply(kind, alpha, beta, inputs[0]->values[i]);
    output.values[i] = integers ? wrapped(static_cast<int64_t>(value)) : value;
  }
}

}  // namespace ferry::reference
