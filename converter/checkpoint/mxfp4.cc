#include "converter/checkpoint/mxfp4.h"

#include <cmath>

#include "converter/error.h"

namespace ferry {

void check_mxfp4(const CheckpointTensor& blocks, const CheckpointTensor& scales, const std::string& key) {
  if (blocks.type != ElementType::U8 || scales.type != ElementType::U8)
    fail("'%s_blocks' is %s and '%s_scales' %s: MXFP4 is U8", key.c_str(), element_name(blocks.type), key.c_str(),
         element_name(scales.type));
  std::vector<int64_t> expected = scales.shape;
  expected.push_back(kMxfp4Block / 2);
  if (scales.shape.empty() || blocks.shape != expected)
    fail("'%s_blocks' does not have %d bytes for each of '%s_scales'", key.c_str(), kMxfp4Block / 2, key.c_str());
}

std::vector<float> read_mxfp4(const CheckpointTensor& blocks, const CheckpointTensor& scales) {
  static constexpr float kMagnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  std::vector<float> out(blocks.bytes.size() * 2);
  float* to = out.data();
  for (size_t block = 0; block < scales.bytes.size(); ++block) {
    const int exponent = std::to_integer<int>(scales.bytes[block]) - 127;
    float values[16];
    for (size_t bits = 0; bits < 8; ++bits) {
      values[bits] = std::ldexp(kMagnitudes[bits], exponent);
      values[bits + 8] = -values[bits];
    }
    for (const std::byte pair : blocks.bytes.subspan(block * kMxfp4Block / 2, kMxfp4Block / 2)) {
      *to++ = values[std::to_integer<size_t>(pair) & 15];
      *to++ = values[std::to_integer<size_t>(pair) >> 4];
    }
  }
  return out;
}

}  // namespace ferry
