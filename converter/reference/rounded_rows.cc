#include "converter/reference/rounded_rows.h"

#include <algorithm>
#include <cmath>

namespace ferry::reference {

std::vector<double> rounded_rows(const std::vector<double>& values, size_t width) {
  constexpr float kLeast = -128, kLargest = 127;
  std::vector<double> out(values.size());
  for (size_t begin = 0; begin < values.size(); begin += width) {
    const auto [first, last] = std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                                   values.begin() + static_cast<std::ptrdiff_t>(begin + width));
    const float low = std::min(static_cast<float>(*first), 0.0f), high = std::max(static_cast<float>(*last), 0.0f);
    const float steps = low == high ? 1.0f : (kLargest - kLeast) / (high - low);
    const float from_low = low * steps, from_high = high * steps;
    const float zero = (kLeast + from_low) + (kLargest + from_high) > 0 ? kLeast - from_low : kLargest - from_high;
    const float zero_point = std::nearbyint(std::clamp(zero, kLeast, kLargest));
    const float step = 1.0f / steps, factor = 1.0f / step;
    for (size_t i = begin; i < begin + width; ++i) {
      const float rounded = std::nearbyint(static_cast<float>(values[i]) * factor);
      out[i] = static_cast<double>(std::clamp(rounded, kLeast - zero_point, kLargest - zero_point)) *
               static_cast<double>(step);
    }
  }
  return out;
}

}  // namespace ferry::reference
