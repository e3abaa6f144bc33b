// Pipelines with libyuv from a frame of 1920x1080 in NV21 to a network's normalised 224x224 RGB input. Each crops
// first, scales with kFilterBox, and normalises in a loop. The filter differs from Pillow's: it is a box over whole
// pixels, whereas Pillow's bilinear filter is twice as wide and weights by distance. Only planes of single samples are
// filtered so; chroma pairs (NV12Scale) and RGB (ARGBScale) are interpolated between 2x2 pixels only.
//
// same_resize() computes the same as ferry: libyuv converts to RGB at full size, and ferry's resize, which is Pillow's,
// does the rest of the preprocessing.
#pragma once

#include <ferry/image.h>
#include <libyuv.h>

#include <algorithm>

#include <cstdint>
#include <vector>

namespace ferry::bench {

constexpr int kWidth = 1920, kHeight = 1080, kSide = 224;
constexpr float kMean[] = {0.485f, 0.456f, 0.406f}, kDeviation[] = {0.229f, 0.224f, 0.225f};

using Bytes = std::vector<uint8_t>;

// The crop of the preprocessing, in the frame's pixels.
struct CropRegion {
  int left, top, width, height;
};

inline ferry_frame nv21_frame(const uint8_t* nv21, int rotation) {
  ferry_frame frame{};
  frame.struct_size = sizeof(frame);
  frame.format = FERRY_FRAME_NV21;
  frame.width = kWidth;
  frame.height = kHeight;
  frame.planes[0] = {nv21, kWidth * kHeight, 0, 0};
  frame.planes[1] = {nv21 + kWidth * kHeight, kWidth * kHeight / 2, 0, 0};
  frame.range = FERRY_RANGE_LIMITED;  // libyuv's NV21
  frame.rotation = rotation;
  return frame;
}

class LibyuvFrames {
 public:
  LibyuvFrames(const uint8_t* nv21, const CropRegion& part, int rotation)
      : nv21_(nv21), part_(part), rotation_(rotation), full_(static_cast<size_t>(4 * part.width * part.height)) {}

  void colours_first(float* out) {
    libyuv::NV21ToARGB(luma(), kWidth, chroma(), kWidth, full_.data(), 4 * part_.width, part_.width, part_.height);
    libyuv::ARGBScale(full_.data(), 4 * part_.width, part_.width, part_.height, small_.data(), 4 * kSide, kSide, kSide,
                      libyuv::kFilterBox);
    finish(out);
  }
  void luma_and_pairs(float* out) {
    libyuv::NV12Scale(luma(), kWidth, chroma(), kWidth, part_.width, part_.height, small_luma_.data(), kSide,
                      small_chroma_.data(), kSide, kSide, kSide, libyuv::kFilterBox);
    libyuv::NV21ToARGB(small_luma_.data(), kSide, small_chroma_.data(), kSide, small_.data(), 4 * kSide, kSide, kSide);
    finish(out);
  }
  void three_planes(float* out) {
    const int half = (part_.width + 1) / 2;
    libyuv::SplitUVPlane(chroma(), kWidth, v_.data(), half, u_.data(), half, half, (part_.height + 1) / 2);
    libyuv::I420Scale(luma(), kWidth, u_.data(), half, v_.data(), half, part_.width, part_.height, small_luma_.data(),
                      kSide, small_u_.data(), kSide / 2, small_v_.data(), kSide / 2, kSide, kSide, libyuv::kFilterBox);
    libyuv::I420ToARGB(small_luma_.data(), kSide, small_u_.data(), kSide / 2, small_v_.data(), kSide / 2, small_.data(),
                       4 * kSide, kSide, kSide);
    finish(out);
  }
  // `set`: sets a frame in a session.
  template <typename Set>
  bool same_resize(const Set& set) {
    constexpr int kAround = 20;  // more than the widest filter's reach beyond the crop
    if (colours_.empty()) colours_.resize(4 * kWidth * kHeight);
    const int left = std::max(part_.left - kAround, 0), top = std::max(part_.top - kAround, 0);
    const int right = std::min(part_.left + part_.width + kAround, kWidth);
    const int bottom = std::min(part_.top + part_.height + kAround, kHeight);
    libyuv::NV21ToARGB(nv21_ + top * kWidth + left, kWidth, nv21_ + kWidth * kHeight + top / 2 * kWidth + left, kWidth,
                       colours_.data() + 4 * (top * kWidth + left), 4 * kWidth, right - left, bottom - top);
    ferry_frame frame = nv21_frame(nv21_, rotation_);
    frame.format = FERRY_FRAME_BGRA;
    frame.range = FERRY_RANGE_FULL;
    frame.planes[0] = {colours_.data(), colours_.size(), 0, 0};
    frame.planes[1] = {};
    return set(frame);
  }

 private:
  const uint8_t* luma() const { return nv21_ + part_.top * kWidth + part_.left; }
  const uint8_t* chroma() const { return nv21_ + kWidth * kHeight + part_.top / 2 * kWidth + part_.left; }
  void finish(float* out) {
    const uint8_t* pixel = small_.data();
    if (rotation_ != 0) {
      libyuv::ARGBRotate(small_.data(), 4 * kSide, turned_.data(), 4 * kSide, kSide, kSide,
                         static_cast<libyuv::RotationMode>(rotation_));
      pixel = turned_.data();
    }
    float scale[3], shift[3];
    for (int c = 0; c < 3; ++c) scale[c] = 1 / (255 * kDeviation[c]), shift[c] = -kMean[c] / kDeviation[c];
    for (int i = 0; i < kSide * kSide; ++i, pixel += 4, out += 3) {
      for (int c = 0; c < 3; ++c) out[c] = static_cast<float>(pixel[2 - c]) * scale[c] + shift[c];
    }
  }

  const uint8_t* nv21_;
  CropRegion part_;
  int rotation_;
  Bytes colours_, full_, small_ = Bytes(4 * kSide * kSide), turned_ = small_, small_luma_ = Bytes(kSide * kSide),
                         small_chroma_ = Bytes(kSide * kSide / 2), u_ = Bytes(kWidth * kHeight / 4), v_ = u_,
                         small_u_ = Bytes(kSide * kSide / 4), small_v_ = small_u_;
};

}  // namespace ferry::bench
