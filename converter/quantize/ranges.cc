#include "converter/quantize/ranges.h"

#include <algorithm>
#include <cmath>

namespace ferry::int8 {
namespace {

constexpr int kLow = -128, kHigh = 127, kSteps = kHigh - kLow;

double centre(const Distribution& d, size_t bin) {
  return static_cast<double>(d.min) + (static_cast<double>(bin) + 0.5) * d.bin_width();
}

// Drops the fraction `outside` of the values at either end.
Range percentile(const Distribution& d, double outside) {
  uint64_t total = 0;
  for (const uint64_t n : d.histogram) total += n;
  const auto allowed = static_cast<uint64_t>(static_cast<double>(total) * outside);
  size_t first = 0, last = d.histogram.size() - 1;
  for (uint64_t dropped = d.histogram[first]; dropped <= allowed && first < last; dropped += d.histogram[++first]) {
  }
  for (uint64_t dropped = d.histogram[last]; dropped <= allowed && first < last; dropped += d.histogram[--last]) {
  }
  return {static_cast<double>(d.min) + static_cast<double>(first) * d.bin_width(),
          static_cast<double>(d.min) + static_cast<double>(last + 1) * d.bin_width()};
}

// Uniform rounding errors have the variance scale^2 / 12; clipped values add their distance.
double squared_error(const Distribution& d, const Range& range) {
  const double scale = (std::max(range.max, 0.0) - std::min(range.min, 0.0)) / kSteps;
  double error = 0;
  for (size_t bin = 0; bin < d.histogram.size(); ++bin) {
    if (d.histogram[bin] == 0) continue;
    const double x = centre(d, bin), clipped = x - std::clamp(x, range.min, range.max);
    error += static_cast<double>(d.histogram[bin]) * (clipped * clipped + scale * scale / 12);
  }
  return error;
}

// Shrinks both ends by factors of 1, 0.98...
Range least_squares(const Distribution& d) {
  constexpr int kTried = 40;
  constexpr double kStep = 0.98;
  const Range whole = {static_cast<double>(d.min), static_cast<double>(d.max)};
  Range best = whole;
  double least = squared_error(d, whole);
  // Alternating between the ends finds the minimum of both: the error is convex in each over the tail.
  for (int round = 0; round < 2; ++round) {
    for (const bool upper : {true, false}) {
      double Range::*const end = upper ? &Range::max : &Range::min;
      double factor = 1;
      const Range start = best;
      for (int i = 0; i < kTried; ++i, factor *= kStep) {
        Range tried = start;
        tried.*end = whole.*end * factor;
        if (const double error = squared_error(d, tried); error < least) least = error, best = tried;
      }
    }
  }
  return best;
}

}  // namespace

int32_t Affine::integer(double value) const {
  const double q = std::nearbyint(value / static_cast<double>(scale)) + zero_point;
  return static_cast<int32_t>(std::clamp<double>(q, kLow, kHigh));
}

double Affine::real(int32_t q) const { return static_cast<double>(q - zero_point) * static_cast<double>(scale); }

Affine affine_of(const Range& range) {
  const double min = std::min(range.min, 0.0), max = std::max(range.max, 0.0);
  Affine out;
  // The smallest scale keeps quotients of two scales finite.
  constexpr double kMinScale = 1e-20;
  if (max > min) out.scale = static_cast<float>(std::max((max - min) / kSteps, kMinScale));
  const double zero = std::nearbyint(kLow - min / static_cast<double>(out.scale));
  out.zero_point = static_cast<int32_t>(std::clamp<double>(zero, kLow, kHigh));
  return out;
}

const char* name_of(RangeRule rule) {
  switch (rule) {
    case RangeRule::MinMax: return "min/max";
    case RangeRule::Percentile9999: return "99.99 %";
    case RangeRule::Percentile999: return "99.9 %";
    case RangeRule::SquaredError: return "squared error";
    case RangeRule::Exact: return "exact";
  }
  return "";
}

Range range_of(const Distribution& d, RangeRule rule, const std::optional<Range>& bounds) {
  const Range whole = {static_cast<double>(d.min), static_cast<double>(d.max)};
  if (rule == RangeRule::Exact) return bounds.value_or(whole);
  if (rule == RangeRule::MinMax || d.histogram.empty()) return whole;
  if (rule == RangeRule::Percentile9999) return percentile(d, 1e-4);
  if (rule == RangeRule::Percentile999) return percentile(d, 1e-3);
  return least_squares(d);
}

Range joined(const Range& a, const Range& b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

}  // namespace ferry::int8
