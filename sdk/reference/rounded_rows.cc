#include "sdk/reference/rounded_rows.h"

#include <algorithm>
#include <cmath>

namespace ferry::reference {

std::vector<double> rounded_rows(const std::vector<double>& values, size_t width) {
  constexpr float kMin = -128, kMax = 127;
  std::vector<double> out(values.size());
  for (size_t begin = 0; begin < values.size(); begin += width) {
    const auto [first, last] = std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                                   values.begin() + static_cast<std::ptrdiff_t>(begin + width));
    const float low = std::min(static_cast<float>(*first), 0.0f), high = std::max(static_cast<float>(*last), 0.0f);
    const float steps = low == high ? 1.0f : (kMax - kMin) / (high - low);
    const float from_low = low * steps, from_high = high * steps;
    const float zero = (kMin + from_low) + (kMax + from_high) > 0 ? kMin - from_low : kMax - from_high;
    const float zero_point = std::nearbyint(std::clamp(zero, kMin, kMax));
    const float step = 1.0f / steps, factor = 1.0f / step;
    for (size_t i = begin; i < begin + width; ++i) {
      const float rounded = std::nearbyint(static_cast<float>(values[i]) * factor);
      out[i] =
          static_cast<double>(std::clamp(rounded, kMin - zero_point, kMax - zero_point)) * static_cast<double>(step);
    }
  }
  return out;
}

}  // namespace ferry::reference
