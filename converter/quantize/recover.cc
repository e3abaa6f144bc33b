#include "converter/quantize/recover.h"

#include <algorithm>
#include <cmath>

#include "converter/graph/float16.h"
#include "sdk/model/elements.h"

namespace ferry {
namespace {

constexpr double kMost = 128;

// Adding this number leaves no bits below 1: rounds to nearest even, without a call.
constexpr double kRound = 0x1.8p52;

bool is_value_of(fbs::DType dtype, double value) {
  if (dtype == fbs::DType::Float16) return static_cast<double>(from_float16(to_float16(value))) == value;
  if (dtype == fbs::DType::BFloat16) return static_cast<double>(from_bfloat16(to_bfloat16(value))) == value;
  return static_cast<double>(static_cast<float>(value)) == value;
}

}  // namespace

std::optional<double> Recovered::scale_in(unsigned bits) const {
  const int limit = 1 << (bits - 1);
  if (low >= -limit && high < limit) return scale;
  if (high <= limit && low > -limit) return -scale;
  return {};
}

std::optional<Recovered> recover(std::span<const double> values, fbs::DType scales) {
  double smallest = INFINITY, largest = 0;
  for (const double value : values) {
    const double magnitude = std::fabs(value);
    if (!std::isfinite(value)) return {};
    largest = std::max(largest, magnitude);
    if (magnitude > 0) smallest = std::min(smallest, magnitude);
  }
  if (largest == 0) return Recovered();
  // The smallest value is a small multiple, mostly 1.
  for (double multiple = 1; multiple * largest <= kMost * smallest; ++multiple) {
    Recovered out{.scale = smallest / multiple};
    if (out.scale * multiple != smallest || !is_value_of(scales, out.scale)) continue;
    const bool fits = std::all_of(values.begin(), values.end(), [&](double value) {
      const double integer = (value / out.scale + kRound) - kRound;
      out.low = std::min(out.low, static_cast<int>(integer));
      out.high = std::max(out.high, static_cast<int>(integer));
      return integer * out.scale == value;
    });
    if (fits) return out;
  }
  return {};
}

}  // namespace ferry
