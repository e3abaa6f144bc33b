// The real values that the 256 integers of an Int8 tensor stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "converter/quantize/calibration.h"

namespace ferry::int8 {

struct Range {
  double min = 0, max = 0;
};

// real = (integer - zero_point) * scale.
struct Affine {
  float scale = 1;
  int32_t zero_point = 0;

  // The nearest integer, ties to even, saturated.
  int32_t integer(double real) const;
  double real(int32_t integer) const;
  friend bool operator==(const Affine&, const Affine&) = default;
};

// Covers the range and 0, which is exact: padding and ReLU need it.
Affine affine_of(const Range& range);

// How a range follows from a distribution.
enum class RangeRule : uint8_t {
  MinMax,
  Percentile9999,  // of each side of 0, the part that 99.99 % of all values are within
  Percentile999,   // likewise 99.9 %
  SquaredError,    // the minimum expected squared error of rounding and clipping
  Exact,           // the bounds of the function that computes the values; MinMax if it has none
};
inline constexpr RangeRule kRangeRules[] = {RangeRule::MinMax, RangeRule::Percentile9999, RangeRule::Percentile999,
                                            RangeRule::SquaredError, RangeRule::Exact};
const char* name_of(RangeRule rule);

// `bounds`: of the function that computes the values, if it has finite ones.
Range range_of(const Distribution& distribution, RangeRule rule, const std::optional<Range>& bounds);

// The smallest range with both.
Range joined(const Range& a, const Range& b);

}  // namespace ferry::int8
