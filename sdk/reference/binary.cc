#include <algorithm>
#include <cmath>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

double apply(fbs::BinaryKind kind, double a, double b) {
  switch (kind) {
    case fbs::BinaryKind::Add: return a + b;
    case fbs::BinaryKind::Sub: return a - b;
    case fbs::BinaryKind::Mul: return a * b;
    case fbs::BinaryKind::Div: return a / b;
    case fbs::BinaryKind::Max: return maximum(a, b);
    case fbs::BinaryKind::Min: return minimum(a, b);
    case fbs::BinaryKind::PRelu: return a > 0 ? a : a * b;
    case fbs::BinaryKind::Pow: return std::pow(a, b);
    case fbs::BinaryKind::Mod: {
      const double rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case fbs::BinaryKind::FMod: return std::fmod(a, b);
    case fbs::BinaryKind::Equal: return a == b;
    case fbs::BinaryKind::Less: return a < b;
    case fbs::BinaryKind::LessOrEqual: return a <= b;
    case fbs::BinaryKind::And:
    case fbs::BinaryKind::Or:
    case fbs::BinaryKind::Xor: break;  // of integers only
  }
  return 0;
}

int64_t power(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
  double result = 1;
  for (int64_t i = 0; i < b; ++i) result = wrapped(static_cast<int64_t>(result) * a);
  return static_cast<int64_t>(result);
}

// Of integers of 32 bits.
int64_t apply(fbs::BinaryKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case fbs::BinaryKind::Add: return a + b;
    case fbs::BinaryKind::Sub: return a - b;
    case fbs::BinaryKind::Mul: return a * b;
    case fbs::BinaryKind::Div: return b == 0 ? 0 : a / b;
    case fbs::BinaryKind::Max: return std::max(a, b);
    case fbs::BinaryKind::Min: return std::min(a, b);
    case fbs::BinaryKind::PRelu: return a > 0 ? a : a * b;
    case fbs::BinaryKind::Pow: return power(a, b);
    case fbs::BinaryKind::Mod: return b == 0 ? 0 : (a % b + b) % b;
    case fbs::BinaryKind::FMod: return b == 0 ? 0 : a % b;
    case fbs::BinaryKind::Equal: return a == b;
    case fbs::BinaryKind::Less: return a < b;
    case fbs::BinaryKind::LessOrEqual: return a <= b;
    case fbs::BinaryKind::And: return a != 0 && b != 0;
    case fbs::BinaryKind::Or: return a != 0 || b != 0;
    case fbs::BinaryKind::Xor: return (a != 0) != (b != 0);
  }
  return 0;
}

}  // namespace

void binary(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Binary& p = *op.params_as_Binary();
  const fbs::BinaryKind kind = p.kind();
  const float low = p.output_min(), high = p.output_max();
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    const double a = broadcast(*inputs[0], output.shape, at), b = broadcast(*inputs[1], output.shape, at);
    output.values[index] = inputs[0]->dtype == fbs::DType::Int32
                               ? wrapped(apply(kind, static_cast<int64_t>(a), static_cast<int64_t>(b)))
                               : clamp(apply(kind, a, b), low, high);
  });
}

}  // namespace ferry::reference
