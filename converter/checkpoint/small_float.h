// Floating point of 4 or 8 bits: the OCP's specifications of 8-bit and microscaling formats, and ONNX's "Float stored
// in 8 bits".
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ferry {

// A sign, then `exponent` and `mantissa` bits.
struct SmallFloat {
  enum Kind { kIeee, kFinite, kFiniteUnsignedZero, kNoNaN };  // FN: no infinity; FNUZ: one NaN, no negative zero

  int exponent, mantissa, bias;
  Kind kind;

  double value(uint8_t bits) const {
    const int sign_bit = 1 << (exponent + mantissa), field = (bits & (sign_bit - 1)) >> mantissa;
    const int fraction = bits & ((1 << mantissa) - 1), top = (1 << exponent) - 1;
    const double sign = (bits & sign_bit) != 0 ? -1 : 1;
    if (kind == kFiniteUnsignedZero && bits == sign_bit) return std::numeric_limits<double>::quiet_NaN();
    if (kind == kFinite && field == top && fraction == (1 << mantissa) - 1)
      return std::numeric_limits<double>::quiet_NaN();
    if (kind == kIeee && field == top)
      return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
    const double significand = (field == 0 ? 0 : 1 << mantissa) + fraction;
    return sign * std::ldexp(significand, std::max(field, 1) - bias - mantissa);
  }
};

inline constexpr SmallFloat kFloat8E4M3FN{4, 3, 7, SmallFloat::kFinite},
    kFloat8E4M3FNUZ{4, 3, 8, SmallFloat::kFiniteUnsignedZero}, kFloat8E5M2{5, 2, 15, SmallFloat::kIeee},
    kFloat8E5M2FNUZ{5, 2, 16, SmallFloat::kFiniteUnsignedZero}, kFloat4E2M1{2, 1, 1, SmallFloat::kNoNaN};

// E8M0: a power of two; all ones is NaN.
inline double float8_e8m0(uint8_t bits) {
  return bits == 0xff ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, bits - 127);
}

}  // namespace ferry
