// Rows in float16 arithmetic, for binary.kernel.cc. Compiled for ARMv8.2 (cmake/sdk.cmake): must define nothing that
// other files also define.
#define FERRY_FLOAT16_VECTORS 1

#include "sdk/cpu/elementwise/binary_kernels.h"

#if defined(__aarch64__)

#include <functional>

#include "sdk/cpu/elementwise/vector.h"

namespace ferry::cpu {
namespace {

template <typename Function>
void row(const Float16* a, const Float16* b, Float16* out, size_t count, float low, float high) {
  constexpr Function function;
  const Vector minimum = repeat(static_cast<Float16>(low)), maximum = repeat(static_cast<Float16>(high));
  for (const Float16* const end = out + count / (2 * kLanes) * (2 * kLanes); out != end;) {
    Vector x[2], y[2];
    load_pair(a, x[0], x[1]);
    load_pair(b, y[0], y[1]);
    store_pair(out, clamp(function(x[0], y[0]), minimum, maximum), clamp(function(x[1], y[1]), minimum, maximum));
  }
  for (count %= 2 * kLanes; count > 0; --count) {
    const Float16 value = static_cast<Float16>(function(*a++, *b++));
    *out++ = value < minimum[0] ? minimum[0] : value > maximum[0] ? maximum[0] : value;  // NaN propagates
  }
}

}  // namespace

Float16BinaryKernel float16_binary(fbs::BinaryKind kind) {
  switch (kind) {
    case fbs::BinaryKind::Add: return row<std::plus<>>;
    case fbs::BinaryKind::Mul: return row<std::multiplies<>>;
    // Computed in float32.
    case fbs::BinaryKind::Sub:
    case fbs::BinaryKind::Div:
    case fbs::BinaryKind::Max:
    case fbs::BinaryKind::Min:
    case fbs::BinaryKind::PRelu:
    case fbs::BinaryKind::Pow:
    case fbs::BinaryKind::Mod:
    case fbs::BinaryKind::FMod:
    case fbs::BinaryKind::Equal:
    case fbs::BinaryKind::Less:
    case fbs::BinaryKind::LessOrEqual:
    case fbs::BinaryKind::And:
    case fbs::BinaryKind::Or:
    case fbs::BinaryKind::Xor: break;
  }
  return nullptr;
}

}  // namespace ferry::cpu

#endif
