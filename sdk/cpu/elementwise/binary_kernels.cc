#include "sdk/cpu/elementwise/binary_kernels.h"

#include <cmath>
#include <cstdint>

namespace ferry::cpu {
namespace {

template <typename T, typename Result, typename Function>
void each(const float* a, size_t step_a, const float* b, size_t step_b, float* out, size_t count, Function function) {
  const T *x = reinterpret_cast<const T*>(a), *y = reinterpret_cast<const T*>(b);
  Result* to = reinterpret_cast<Result*>(out);
  for (size_t i = 0; i < count; ++i, x += step_a, y += step_b) to[i] = static_cast<Result>(function(*x, *y));
}

// Exponentiation by squaring.
uint32_t power(int32_t base, int32_t exponent) {
  if (exponent < 0) return base == 1 ? 1u : base == -1 ? (exponent % 2 != 0 ? ~0u : 1u) : 0u;
  uint32_t result = 1, square = static_cast<uint32_t>(base);
  for (auto bits = static_cast<uint32_t>(exponent); bits != 0; bits >>= 1, square *= square)
    if (bits & 1) result *= square;
  return result;
}

// INT_MIN / -1 wraps.
int32_t quotient(int32_t a, int32_t b) {
  if (b == 0) return 0;
  return b == -1 ? static_cast<int32_t>(0 - static_cast<uint32_t>(a)) : a / b;
}
int32_t remainder(int32_t a, int32_t b) { return b == 0 || b == -1 ? 0 : a % b; }

// The result has the sign of b.
template <typename T>
T modulo(T rest, T b) {
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <typename T>
bool compare(fbs::BinaryKind kind, T a, T b) {
  return kind == fbs::BinaryKind::Equal ? a == b : kind == fbs::BinaryKind::Less ? a < b : a <= b;
}

int32_t combine(fbs::BinaryKind kind, int32_t a, int32_t b) {
  const auto x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b);
  switch (kind) {
    case fbs::BinaryKind::Add: return static_cast<int32_t>(x + y);
    case fbs::BinaryKind::Sub: return static_cast<int32_t>(x - y);
    case fbs::BinaryKind::Mul: return static_cast<int32_t>(x * y);
    case fbs::BinaryKind::Div: return quotient(a, b);
    case fbs::BinaryKind::Max: return a > b ? a : b;
    case fbs::BinaryKind::Min: return a < b ? a : b;
    case fbs::BinaryKind::Pow: return static_cast<int32_t>(power(a, b));
    case fbs::BinaryKind::Mod: return modulo(remainder(a, b), b);
    case fbs::BinaryKind::FMod: return remainder(a, b);
    case fbs::BinaryKind::And: return a != 0 && b != 0;
    case fbs::BinaryKind::Or: return a != 0 || b != 0;
    case fbs::BinaryKind::Xor: return (a != 0) != (b != 0);
    case fbs::BinaryKind::Equal:
    case fbs::BinaryKind::Less:
    case fbs::BinaryKind::LessOrEqual: return compare(kind, a, b);
    case fbs::BinaryKind::PRelu: break;  // of Float32 only
  }
  return 0;
}

// Denormals compare as 0 while they are flushed (sdk/threads/denormals.h). The C library reads their bits.
float flushed(float x) { return x == 0 ? std::copysign(0.0f, x) : x; }

float combine(fbs::BinaryKind kind, float a, float b) {
  switch (kind) {
    case fbs::BinaryKind::Pow: return std::pow(flushed(a), flushed(b));
    case fbs::BinaryKind::Mod: return modulo(std::fmod(a, b), b);
    case fbs::BinaryKind::FMod: return std::fmod(a, b);
    // Vectorised kernels, comparison() and integer() compute the others.
    case fbs::BinaryKind::Add:
    case fbs::BinaryKind::Sub:
    case fbs::BinaryKind::Mul:
    case fbs::BinaryKind::Div:
    case fbs::BinaryKind::Max:
    case fbs::BinaryKind::Min:
    case fbs::BinaryKind::PRelu:
    case fbs::BinaryKind::Equal:
    case fbs::BinaryKind::Less:
    case fbs::BinaryKind::LessOrEqual:
    case fbs::BinaryKind::And:
    case fbs::BinaryKind::Or:
    case fbs::BinaryKind::Xor: break;
  }
  return 0;
}

// One loop per kind, so that the compiler removes the switch from the loop.
template <fbs::BinaryKind kKind>
void integer(const float* a, size_t step_a, const float* b, size_t step_b, float* out, size_t count, float, float) {
  each<int32_t, int32_t>(a, step_a, b, step_b, out, count, [](int32_t x, int32_t y) { return combine(kKind, x, y); });
}

template <fbs::BinaryKind kKind>
void floating(const float* a, size_t step_a, const float* b, size_t step_b, float* out, size_t count, float low,
              float high) {
  each<float, float>(a, step_a, b, step_b, out, count, [=](float x, float y) {
    const float value = combine(kKind, x, y);
    return value < low ? low : value > high ? high : value;
  });
}

template <fbs::BinaryKind kKind>
void comparison(const float* a, size_t step_a, const float* b, size_t step_b, float* out, size_t count, float, float) {
  each<float, int32_t>(a, step_a, b, step_b, out, count, [](float x, float y) { return compare(kKind, x, y); });
}

}  // namespace

BinaryKernel plain_binary(fbs::BinaryKind kind, bool is_integer) {
  switch (kind) {
    case fbs::BinaryKind::Add: return is_integer ? integer<fbs::BinaryKind::Add> : nullptr;
    case fbs::BinaryKind::Sub: return is_integer ? integer<fbs::BinaryKind::Sub> : nullptr;
    case fbs::BinaryKind::Mul: return is_integer ? integer<fbs::BinaryKind::Mul> : nullptr;
    case fbs::BinaryKind::Div: return is_integer ? integer<fbs::BinaryKind::Div> : nullptr;
    case fbs::BinaryKind::Max: return is_integer ? integer<fbs::BinaryKind::Max> : nullptr;
    case fbs::BinaryKind::Min: return is_integer ? integer<fbs::BinaryKind::Min> : nullptr;
    case fbs::BinaryKind::PRelu: return nullptr;
    case fbs::BinaryKind::Pow: return is_integer ? integer<fbs::BinaryKind::Pow> : floating<fbs::BinaryKind::Pow>;
    case fbs::BinaryKind::Mod: return is_integer ? integer<fbs::BinaryKind::Mod> : floating<fbs::BinaryKind::Mod>;
    case fbs::BinaryKind::FMod: return is_integer ? integer<fbs::BinaryKind::FMod> : floating<fbs::BinaryKind::FMod>;
    case fbs::BinaryKind::Equal:
      return is_integer ? integer<fbs::BinaryKind::Equal> : comparison<fbs::BinaryKind::Equal>;
    case fbs::BinaryKind::Less: return is_integer ? integer<fbs::BinaryKind::Less> : comparison<fbs::BinaryKind::Less>;
    case fbs::BinaryKind::LessOrEqual:
      return is_integer ? integer<fbs::BinaryKind::LessOrEqual> : comparison<fbs::BinaryKind::LessOrEqual>;
    case fbs::BinaryKind::And: return integer<fbs::BinaryKind::And>;
    case fbs::BinaryKind::Or: return integer<fbs::BinaryKind::Or>;
    case fbs::BinaryKind::Xor: return integer<fbs::BinaryKind::Xor>;
  }
  return nullptr;
}

}  // namespace ferry::cpu
