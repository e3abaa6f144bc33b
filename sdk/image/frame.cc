#include "sdk/image/frame.h"

#include <cmath>

namespace ferry::image {

// Rec. ITU-R BT.601-7, 2.5: from the shares that red and blue have in luma. Limited range: luma has 219 steps from 16
// on, chroma 224; of 10 bits four times as many, and full range 1023.
YuvMatrix matrix_of(double red, double blue, bool limited, bool wide) {
  const double green = 1 - red - blue, full = wide ? 1020.0 / 1023 : 1.0;
  const double luma = limited ? 255.0 / 219 : full, chroma = limited ? 255.0 / 224 : full;
  const auto fixed = [](double factor, int bits) { return static_cast<int16_t>(std::lrint(factor * (1 << bits))); };
  YuvMatrix m;
  m.luma = fixed(luma, 14);
  m.red_v = fixed(2 * (1 - red) * chroma, 13);
  m.blue_u = fixed(2 * (1 - blue) * chroma, 13);
  m.green_u = fixed(-2 * blue * (1 - blue) / green * chroma, 13);
  m.green_v = fixed(-2 * red * (1 - red) / green * chroma, 13);
  m.black = limited ? 16 : 0;
  return m;
}

}  // namespace ferry::image
