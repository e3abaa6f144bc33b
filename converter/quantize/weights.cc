#include "converter/quantize/weights.h"

#include <algorithm>
#include <cmath>

#include "converter/error.h"

namespace ferry::int8 {

Weight quantise_to_nearest(std::span<const double> values, size_t channels, std::vector<double> bias,
                           const std::string& name) {
  constexpr double kMax = 127;
  Weight out;
  out.channels = channels;
  out.width = values.size() / channels;
  out.bias = std::move(bias);
  out.bias.resize(channels);
  for (size_t c = 0; c < channels; ++c) {
    const std::span<const double> row = values.subspan(c * out.width, out.width);
    double largest = 0;
    for (const double w : row) {
      if (!std::isfinite(w)) fail("'%s': channel %zu of the weight is not finite", name.c_str(), c);
      largest = std::max(largest, std::fabs(w));
    }
    if (!std::isfinite(out.bias[c])) fail("'%s': channel %zu of the bias is not finite", name.c_str(), c);
    constexpr double kMinScale = 1e-20;  // of a channel of zeros
    const auto scale = static_cast<float>(std::max(largest / kMax, kMinScale));
    out.scales.push_back(scale);
    for (const double w : row)
      out.integers.push_back(
          static_cast<int8_t>(std::clamp(std::nearbyint(w / static_cast<double>(scale)), -kMax, kMax)));
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
        out.integers[i] = static_cast<int8_t>(std::nearbyint(weight.integers[i] * given / static_cast<double>(scale)));
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
