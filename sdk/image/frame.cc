#include "sdk/image/frame.h"

#include <cmath>

namespace ferry::image {

YuvMatrix matrix_of(double red, double blue, bool limited, bool wide) {
  const double green = 1 - red - blue, full = wide ? 1020.0 / 1023 : 1.0;
  const double luma = limited ? 255.0 / 219 : full, chroma = limited ? 255.0 / 224 : full;
  YuvMatrix m;
  m.luma = static_cast<float>(luma);
  m.red_v = static_cast<float>(2 * (1 - red) * chroma);
  m.blue_u = static_cast<float>(2 * (1 - blue) * chroma);
  m.green_u = static_cast<float>(-2 * blue * (1 - blue) / green * chroma);
  m.green_v = static_cast<float>(-2 * red * (1 - red) / green * chroma);
  m.black = limited ? 16 : 0;
  return m;
}

FixedMatrix fixed_of(const YuvMatrix& m) {
  const auto bits = [](float factor, int after) {
    return static_cast<int16_t>(std::lrint(factor * static_cast<float>(1 << after)));
  };
  return {bits(m.luma, 14), bits(m.red_v, 13), bits(m.green_u, 13), bits(m.green_v, 13), bits(m.blue_u, 13), m.black};
}

}  // namespace ferry::image
