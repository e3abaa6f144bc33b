#include "sdk/image/normalizer.h"

#include <algorithm>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "sdk/kernel.h"

namespace ferry::image {
namespace {

// One value per channel, or `otherwise` if the list is empty.
class PerChannel {
 public:
  PerChannel(const flatbuffers::Vector<float>* values, float otherwise) : values_(values), otherwise_(otherwise) {}

  unsigned count() const { return values_ ? values_->size() : 0; }
  bool fits(unsigned channels) const { return count() == 0 || count() == channels; }
  float operator[](unsigned channel) const { return count() ? values_->Get(channel) : otherwise_; }

 private:
  const flatbuffers::Vector<float>* values_;
  float otherwise_;
};

// Pixels of three channels, with adjacent output samples.
FERRY_KERNEL void write_pixels(const uint8_t* pixel, int step, int count, const float (*table)[Normalizer::kLevels],
                               bool reversed, float* out, int64_t pixel_step) {
  const int first = reversed ? 2 : 0;
  for (; count > 0; --count, pixel += step, out += pixel_step) {
    out[0] = table[0][pixel[first]];
    out[1] = table[1][pixel[1]];
    out[2] = table[2][pixel[2 - first]];
  }
}

// An approximation for pixels of 4 bytes, without table lookups.
#if defined(__aarch64__)
FERRY_KERNEL void write_near(const uint8_t* pixel, int count, const float* steps, const float* zeros, float* out,
                             int64_t pixel_step) {
  for (; count >= 8; count -= 8, pixel += 32) {
    const uint8x8x4_t levels = vld4_u8(pixel);
    float32x4x3_t low, high;
    const auto numbers = [&](int c) {
      const uint16x8_t wide = vmovl_u8(levels.val[c]);
      const float32x4_t zero = vdupq_n_f32(zeros[c]);
      low.val[c] = vfmaq_n_f32(zero, vcvtq_f32_u32(vmovl_u16(vget_low_u16(wide))), steps[c]);
      high.val[c] = vfmaq_n_f32(zero, vcvtq_f32_u32(vmovl_high_u16(wide)), steps[c]);
    };
    numbers(0), numbers(1), numbers(2);
    if (pixel_step == 3) {
      vst3q_f32(out, low), vst3q_f32(out + 12, high);
      out += 24;
      continue;
    }
    for (const float32x4x3_t& four : {low, high}) {
      vst3q_lane_f32(out, four, 0), vst3q_lane_f32(out + pixel_step, four, 1);
      vst3q_lane_f32(out + 2 * pixel_step, four, 2), vst3q_lane_f32(out + 3 * pixel_step, four, 3);
      out += 4 * pixel_step;
    }
  }
  for (; count > 0; --count, pixel += 4, out += pixel_step)
    for (int c = 0; c < 3; ++c) out[c] = pixel[c] * steps[c] + zeros[c];
}
#else
FERRY_KERNEL void write_near(const uint8_t* pixel, int count, const float* steps, const float* zeros, float* out,
                             int64_t pixel_step) {
  const auto write = [&](const uint8_t* from, float* to) {
    to[0] = from[0] * steps[0] + zeros[0], to[1] = from[1] * steps[1] + zeros[1], to[2] = from[2] * steps[2] + zeros[2];
  };
  if (pixel_step == 3) {
    FERRY_INDEPENDENT
    for (int i = 0; i < count; ++i) write(pixel + 4 * i, out + 3 * i);
  } else {
    for (int i = 0; i < count; ++i) write(pixel + 4 * i, out + i * pixel_step);
  }
}
#endif

}  // namespace

Status Normalizer::prepare(const fbs::Preprocess& recipe, int height, int width, int channels) {
  const PerChannel mean(recipe.mean(), 0.0f), std(recipe.std(), 1.0f), fill(recipe.fill(), 0.0f);
  const auto n = static_cast<unsigned>(channels);
  if (!mean.fits(n) || !std.fits(n) || !fill.fits(n)) {
    return error(FERRY_INVALID_ARGUMENT,
                 "the model's recipe has %u means, %u deviations and %u fills for an image of %d channels",
                 mean.count(), std.count(), fill.count(), channels);
  }
  patch_ = recipe.patch();
  block_ = recipe.patch_block();
  frames_ = recipe.patch_frames();
  const int side = patch_ * block_;
  if (patch_ > 0 && (width % side != 0 || height % side != 0)) {
    return error(FERRY_INVALID_ARGUMENT,
                 "an image of %dx%d pixels cannot be cut into blocks of %dx%d patches of %d pixels each", width, height,
                 block_, block_, patch_);
  }
  height_ = height;
  width_ = width;
  channels_ = channels;
  reversed_ = recipe.color() == fbs::ColorOrder::BGR;
  constexpr float kWhite = 255.0f;
  // Computed in float in the frameworks' order, so that rounding is the same.
  for (unsigned c = 0; c < n; ++c) {
    for (int v = 0; v < kLevels; ++v) table_[c][v] = (static_cast<float>(v) / kWhite - mean[c]) / std[c];
    steps_[c] = 1 / (kWhite * std[c]);
    fill_[c] = (fill[c] - mean[c]) / std[c];
  }
  return {};
}

// `count` positions of the line from `from` on. Output samples are `pixel_step` and `channel_step` elements apart.
void Normalizer::part(const Line& line, int from, int count, float* out, int64_t pixel_step,
                      int64_t channel_step) const {
  const int begin = std::clamp(line.begin - from, 0, count);
  const int end = std::clamp(line.begin + line.count - from, begin, count);
  for (int c = 0; c < channels_; ++c) {
    float* to = out + c * channel_step;
    for (int i = 0; i < begin; ++i) to[i * pixel_step] = fill_[c];
    for (int i = end; i < count; ++i) to[i * pixel_step] = fill_[c];
  }
  if (begin == end) return;
  const uint8_t* pixel = line.pixels + int64_t{from + begin - line.begin} * line.step;
  out += begin * pixel_step;
  if (channels_ == 3 && channel_step == 1 && line.near && line.step == 4 && !reversed_) {
    const float zeros[] = {table_[0][0], table_[1][0], table_[2][0]};
    return write_near(pixel, end - begin, steps_, zeros, out, pixel_step);
  }
  if (channels_ == 3 && channel_step == 1)
    return write_pixels(pixel, line.step, end - begin, table_, reversed_, out, pixel_step);
  for (int c = 0; c < channels_; ++c) {
    const uint8_t* sample = pixel + (reversed_ ? channels_ - 1 - c : c);
    float* to = out + c * channel_step;
    for (int i = begin; i < end; ++i, sample += line.step, to += pixel_step) *to = table_[c][*sample];
  }
}

void Normalizer::put(int at, const Line& line, bool column, float* out) const {
  if (patch_ > 0) return put_patches(at, line, column, out);
  const int64_t along = column ? int64_t{width_} * channels_ : channels_;
  const int64_t across = column ? channels_ : int64_t{width_} * channels_;
  part(line, 0, column ? height_ : width_, out + at * across, along, 1);
}

// Square patches in blocks: each is [channels, frames, patch, patch], with the same image in every frame.
void Normalizer::put_patches(int at, const Line& line, bool column, float* out) const {
  const int64_t frame = int64_t{patch_} * patch_, channel = frame * frames_;
  const int side = patch_ * block_, length = column ? height_ : width_;
  for (int begin = 0; begin < length; begin += patch_) {
    const int y = column ? begin : at, x = column ? at : begin;
    const int64_t block = int64_t{y / side} * (width_ / side) + x / side;
    const int64_t patch = (block * block_ + y % side / patch_) * block_ + x % side / patch_;
    float* to = out + patch * channel * channels_ + (column ? at % patch_ : at % patch_ * patch_);
    for (int f = 0; f < frames_; ++f) part(line, begin, patch_, to + f * frame, column ? patch_ : 1, channel);
  }
}

}  // namespace ferry::image
