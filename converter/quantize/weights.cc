#include "converter/quantize/weights.h"

#include <algorithm>
#include <cmath>

#include "converter/error.h"

namespace ferry::int8 {
namespace {

constexpr double kMax = 127;
constexpr double kScaleOfZeros = 1e-20;  // of a channel of zeros

int8_t rounded(double value, double scale) {
  return static_cast<int8_t>(std::clamp(std::nearbyint(value / scale), -kMax, kMax));
}

double largest_of(std::span<const double> values) {
  double largest = 0;
  for (const double v : values) largest = std::max(largest, std::fabs(v));
  return largest;
}

// Without integers and scales.
Weight sized(std::span<const double> values, size_t channels, std::vector<double> bias) {
  Weight out;
  out.channels = channels;
  out.width = values.size() / channels;
  out.bias = std::move(bias);
  out.bias.resize(channels);
  return out;
}

double squared_error(std::span<const double> values, double scale) {
  double error = 0;
  for (const double v : values) {
    const double difference = v - rounded(v, scale) * scale;
    error += difference * difference;
  }
  return error;
}

}  // namespace

Weight quantise_to_nearest(std::span<const double> values, size_t channels, std::vector<double> bias,
                           const std::string& name) {
  Weight out = sized(values, channels, std::move(bias));
  for (size_t c = 0; c < channels; ++c) {
    const std::span<const double> row = values.subspan(c * out.width, out.width);
    for (const double w : row)
      if (!std::isfinite(w)) fail("'%s': channel %zu of the weight is not finite", name.c_str(), c);
    if (!std::isfinite(out.bias[c])) fail("'%s': channel %zu of the bias is not finite", name.c_str(), c);
    const auto scale = static_cast<float>(std::max(largest_of(row) / kMax, kScaleOfZeros));
    out.scales.push_back(scale);
    for (const double w : row) out.integers.push_back(rounded(w, static_cast<double>(scale)));
  }
  return out;
}

double step_of(std::span<const double> values) {
  constexpr double kMost = 255, kTolerance = 0x1p-21;  // float32 rounds integer times scale, twice in a quotient
  double least = INFINITY;
  for (const double v : values) {
    if (!std::isfinite(v)) return 0;
    if (v != 0) least = std::min(least, std::fabs(v));
  }
  const double largest = largest_of(values);
  if (largest == 0) return 1;
  // The least value is a small multiple, mostly of 1 to 3.
  for (double multiple = 1; multiple <= kMost; ++multiple) {
    const double most = std::nearbyint(largest * multiple / least);
    if (most > kMost) return 0;
    const double step = largest / most;  // the most precise
    const bool fits = std::all_of(values.begin(), values.end(), [&](double v) {
      return std::fabs(v - std::nearbyint(v / step) * step) <= kTolerance * std::fabs(v);
    });
    if (fits) return step;
  }
  return 0;
}

std::optional<Weight> recover_integers(std::span<const double> values, size_t channels, std::vector<double> bias) {
  Weight out = sized(values, channels, std::move(bias));
  const auto row_of = [&](size_t c) { return values.subspan(c * out.width, out.width); };
  std::vector<double> steps;
  double low = 0, high = 0;  // of all multiples
  for (size_t c = 0; c < channels; ++c) {
    steps.push_back(step_of(row_of(c)));
    if (steps[c] == 0 || !std::isfinite(out.bias[c])) return {};
    for (const double w : row_of(c)) {
      low = std::min(low, std::nearbyint(w / steps[c]));
      high = std::max(high, std::nearbyint(w / steps[c]));
    }
  }
  const bool fits = std::max(-low, high) <= kMax;
  if (!fits && high - low <= 255) out.zero_point = static_cast<int32_t>(std::clamp(0.0, -128 - low, 127 - high));
  for (size_t c = 0; c < channels; ++c) {
    const std::span<const double> row = row_of(c);
    const double step = steps[c], largest = largest_of(row);
    double scale = largest > 0 ? step : kScaleOfZeros;
    if (!fits && out.zero_point == 0 && largest > (kMax + 0.5) * step) {
      ++out.rounded;
      if (const double wide = largest / kMax; squared_error(row, wide) < squared_error(row, scale)) scale = wide;
    }
    out.scales.push_back(static_cast<float>(scale));
    for (const double w : row)
      out.integers.push_back(out.zero_point == 0 ? rounded(w, static_cast<double>(out.scales.back()))
                                                 : static_cast<int8_t>(std::nearbyint(w / scale) + out.zero_point));
  }
  return out;
}

ChannelScales channel_scales(const Weight& weight, float input, float output) {
  constexpr double kMaxBias = 1 << 30;                // leaves room for the products
  constexpr double kMinMultiplier = 1.0 / (1 << 24);  // smaller ones lose even the largest sums
  ChannelScales out;
  out.integers = weight.integers;
  for (size_t c = 0; c < weight.channels; ++c) {
    const double x = static_cast<double>(input), given = static_cast<double>(weight.scales[c]);
    const double least =
        std::max(std::fabs(weight.bias[c]) / (x * kMaxBias), kMinMultiplier * static_cast<double>(output) / x);
    float scale = weight.scales[c];
    if (given < least) {
      scale = static_cast<float>(least);
      for (size_t i = c * weight.width; i < (c + 1) * weight.width; ++i)
        out.integers[i] = static_cast<int8_t>(
            std::nearbyint((weight.integers[i] - weight.zero_point) * given / static_cast<double>(scale)) +
            weight.zero_point);
    }
    out.scales.push_back(scale);
    out.bias.push_back(static_cast<int32_t>(std::nearbyint(weight.bias[c] / (x * static_cast<double>(scale)))));
  }
  return out;
}

bool representable(const Weight& weight, float input, float output) {
  constexpr float kMaxMultiplier = 256;
  return std::all_of(weight.scales.begin(), weight.scales.end(),
                     [&](float scale) { return input * scale / output < kMaxMultiplier; });
}

}  // namespace ferry::int8
