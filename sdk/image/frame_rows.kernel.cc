#include <algorithm>
#include <cstring>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "sdk/image/frame_colours.h"
#include "sdk/image/preprocess.h"
#include "sdk/kernel.h"

namespace ferry::image {
namespace {

// The upper 10 of 16 bits: levels with 2 fractional bits.
constexpr int kWideShift = 8;

// Loads adjacent or evenly spaced samples as vectors, others one by one.
template <typename Sample>
[[gnu::always_inline]] inline void spread(int step, int count, const Sample& sample) {
  switch (step) {
    case 1:
      FERRY_INDEPENDENT
      for (int i = 0; i < count; ++i) sample(i, i);
      break;
    case 2:
      FERRY_INDEPENDENT
      for (int i = 0; i < count; ++i) sample(i, 2 * i);
      break;
    default:
      FERRY_INDEPENDENT
      for (int i = 0; i < count; ++i) sample(i, i * step);
      break;
  }
}

int16_t wide_at(const uint8_t* sample) { return static_cast<int16_t>((sample[0] | sample[1] << kWideShift) >> 6); }

// One copy for luma and chroma, because it is large.
[[gnu::noinline]] FERRY_KERNEL void read(const uint8_t* from, int step, int count, bool wide, int shift, int zero,
                                         int16_t* to) {
  const int offset = zero << shift;
  if (wide) {
    FERRY_INDEPENDENT
    for (int i = 0; i < count; ++i)
      to[i] = static_cast<int16_t>((wide_at(from + int64_t{i} * step) << (shift - 2)) - offset);
  } else {
    spread(step, count, [&](int i, int at) { to[i] = static_cast<int16_t>((from[at] << shift) - offset); });
  }
}

FERRY_KERNEL void write_rgb(const Frame& frame, const uint8_t* red, const uint8_t* green, const uint8_t* blue,
                            int count, uint8_t* out) {
  const int step = frame.planes[0].pixel;
  FERRY_INDEPENDENT
  for (int i = 0; i < count; ++i) {
    const int at = i * step;
    out[4 * i] = red[at], out[4 * i + 1] = green[at], out[4 * i + 2] = blue[at], out[4 * i + 3] = 0;
  }
}

void to_luma(const uint8_t* rgb, int count, uint8_t* out) {
  FERRY_INDEPENDENT
  for (int i = 0; i < count; ++i, rgb += 4) out[i] = luma(rgb[0], rgb[1], rgb[2]);
}

}  // namespace

void read_luma(const Frame& frame, int x, int y, int count, Block* block) {
  read(samples_at(frame, 0, x, y), frame.planes[0].pixel, count, frame.wide, kLumaShift, frame.matrix.black,
       block->luma);
}

void read_chroma(const Frame& frame, int x, int y, int pairs, Block* block) {
  const int row = frame.half_rows ? y / 2 : y;
  read(samples_at(frame, 1, x / 2, row), frame.planes[1].pixel, pairs, frame.wide, kChromaShift, kGray, block->u);
  read(samples_at(frame, 2, x / 2, row), frame.planes[2].pixel, pairs, frame.wide, kChromaShift, kGray, block->v);
}

namespace {

constexpr int kProductShift = 13;  // additional fractional bits of products
constexpr int16_t kBlackest = -kGray * (1 << kLevelBits), kWhitest = (255 - kGray) * (1 << kLevelBits);

// Luma's factor with as many bits as the others.
inline int16_t luma_gain(const FixedMatrix& matrix) { return static_cast<int16_t>((matrix.luma + 1) >> 1); }
// Offset of a luma sample at kGray from level kGray.
inline int32_t zero_of(const FixedMatrix& matrix) {
  return ((kGray - matrix.black) * luma_gain(matrix) - (kGray << kProductShift)) * (1 << kLevelBits);
}

// What chroma adds to each pixel's luma, in levels.
struct Added {
  float red[kBlock], green[kBlock], blue[kBlock];
};

FERRY_KERNEL void add_chroma(const YuvMatrix& matrix, const Block& block, int pairs, Added* added) {
  constexpr float kLevel = 1.0f / (1 << kChromaShift);
  const float red_v = matrix.red_v * kLevel, green_v = matrix.green_v * kLevel;
  const float green_u = matrix.green_u * kLevel, blue_u = matrix.blue_u * kLevel;
  FERRY_INDEPENDENT
  for (int i = 0; i < pairs; ++i) {
    const float u = block.u[i], v = block.v[i];
    added->red[2 * i] = added->red[2 * i + 1] = v * red_v;
    added->green[2 * i] = added->green[2 * i + 1] = u * green_u + v * green_v;
    added->blue[2 * i] = added->blue[2 * i + 1] = u * blue_u;
  }
}

#if defined(__aarch64__)
// Blocks of 8 of `count` pixels; the last block overlaps the one before. Fewer than 8 pixels are written to a buffer
// first.
struct PixelBlocks {
  int count;
  uint8_t* out;
  uint8_t few[32];

  bool enough() const { return count >= 8; }
  int begin(int i) const { return enough() ? std::min(i, count - 8) : 0; }
  uint8_t* at(int begin) { return enough() ? out + 4 * begin : few; }
  void end() const {
    if (!enough()) std::memcpy(out, few, static_cast<size_t>(4 * count));
  }
};

// Eight levels: luma plus what chroma adds to it.
inline uint8x8_t levels_8(float32x4_t low, float32x4_t high, const float* added) {
  const int32x4_t first = vcvtaq_s32_f32(vaddq_f32(low, vld1q_f32(added)));
  const int32x4_t second = vcvtaq_s32_f32(vaddq_f32(high, vld1q_f32(added + 4)));
  return vqmovn_u16(vqmovun_high_s32(vqmovun_s32(first), second));
}

FERRY_KERNEL void write_colours(const Block& block, const Added& added, float gain, int count, uint8_t* out) {
  gain /= 1 << kLumaShift;
  PixelBlocks blocks = {count, out, {}};
  for (int next = 0; next < count; next += 8) {
    const int i = blocks.begin(next);
    const int16x8_t luma = vld1q_s16(block.luma + i);
    const float32x4_t low = vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(luma))), gain);
    const float32x4_t high = vmulq_n_f32(vcvtq_f32_s32(vmovl_high_s16(luma)), gain);
    uint8x8x4_t pixels;
    pixels.val[0] = levels_8(low, high, added.red + i);
    pixels.val[1] = levels_8(low, high, added.green + i);
    pixels.val[2] = levels_8(low, high, added.blue + i);
    pixels.val[3] = vdup_n_u8(0);
    vst4_u8(blocks.at(i), pixels);
  }
  blocks.end();
}

}  // namespace

FERRY_KERNEL void to_colours(const Summed& summed, const FixedMatrix& matrix, int count, int16_t* const* colours) {
  // Converts sums with factors of kProductShift bits to levels with kSumBits fractional bits. Values beyond 16 bits are
  // no colours.
  static_assert(kLevelBits + kProductShift - 15 == kSumBits);
  constexpr int kUp = kLevelBits - kSumBits, kHalf = 1 << (kProductShift + kUp - 1);
  const FixedMatrix m = matrix;
  const int16_t gain = luma_gain(m);
  const int16x8_t zero = vdupq_n_s16(static_cast<int16_t>((zero_of(m) + kHalf) >> (kProductShift + kUp)));
  const int16x8_t minimum = vdupq_n_s16(kBlackest >> kUp), maximum = vdupq_n_s16(kWhitest >> kUp);
  const int16_t *from_luma = summed.luma, *from_u = summed.u, *from_v = summed.v;
  const int16_t *const red_excess = summed.excess[0], *const green_excess = summed.excess[1];
  const int16_t* const blue_excess = summed.excess[2];
  int16_t *const red = colours[0], *const green = colours[1], *const blue = colours[2];
  for (int64_t i = 0; i < count; i += 8) {
    const int16x8_t u = vld1q_s16(from_u + i), v = vld1q_s16(from_v + i);
    const int16x8_t luma = vaddq_s16(vqrdmulhq_n_s16(vld1q_s16(from_luma + i), gain), zero);
    const int16x8_t green_added = vqaddq_s16(vqrdmulhq_n_s16(u, m.green_u), vqrdmulhq_n_s16(v, m.green_v));
    int16x8_t r = vqaddq_s16(luma, vqrdmulhq_n_s16(v, m.red_v)), g = vqaddq_s16(luma, green_added);
    int16x8_t b = vqaddq_s16(luma, vqrdmulhq_n_s16(u, m.blue_u));
    if (red_excess) {
      r = vqsubq_s16(r, vld1q_s16(red_excess + i)), g = vqsubq_s16(g, vld1q_s16(green_excess + i));
      b = vqsubq_s16(b, vld1q_s16(blue_excess + i));
    }
    const auto clipped = [&](int16x8_t level) {
      return vshlq_n_s16(vminq_s16(vmaxq_s16(level, minimum), maximum), kUp);
    };
    vst1q_s16(red + i, clipped(r)), vst1q_s16(green + i, clipped(g)), vst1q_s16(blue + i, clipped(b));
  }
}

FERRY_KERNEL void write_rounded(const int16_t* const* colours, int count, uint8_t* out) {
  PixelBlocks blocks = {count, out, {}};
  const auto level = [](const int16_t* from) {
    const int8x8_t rounded = vqrshrn_n_s16(vld1q_s16(from), kLevelBits);
    return veor_u8(vreinterpret_u8_s8(rounded), vdup_n_u8(kGray));
  };
  for (int next = 0; next < count; next += 8) {
    const int i = blocks.begin(next);
    vst4_u8(blocks.at(i),
            (uint8x8x4_t{{level(colours[0] + i), level(colours[1] + i), level(colours[2] + i), vdup_n_u8(0)}}));
  }
  blocks.end();
}
#else
uint32_t level(float exact) {
  const int rounded = static_cast<int>(exact + 0.5f);
  return static_cast<uint32_t>(rounded < 0 ? 0 : rounded > 255 ? 255 : rounded);
}

void write_pixel(uint32_t red, uint32_t green, uint32_t blue, uint8_t* out) {
  const uint32_t pixel = red | green << 8 | blue << 16;
  std::memcpy(out, &pixel, sizeof(pixel));
}

FERRY_KERNEL void write_colours(const Block& block, const Added& added, float gain, int count, uint8_t* out) {
  gain /= 1 << kLumaShift;
  FERRY_INDEPENDENT
  for (int i = 0; i < count; ++i) {
    const float luma = block.luma[i] * gain;
    write_pixel(level(luma + added.red[i]), level(luma + added.green[i]), level(luma + added.blue[i]), out + 4 * i);
  }
}

constexpr int kExcessUnit = 1 << (kProductShift + kLevelBits - kSumBits);  // units of a product per unit of excess

template <bool kClips>
[[gnu::always_inline]] inline void to_colours(const Summed& summed, const FixedMatrix& m, int count, int16_t* red,
                                              int16_t* green, int16_t* blue) {
  const int gain = luma_gain(m), zero = zero_of(m) + (1 << (kProductShift - 1));
  const Summed from = summed;
  FERRY_INDEPENDENT
  for (int i = 0; i < count; ++i) {
    const int luma = from.luma[i] * gain + zero, u = from.u[i], v = from.v[i];
    const auto colour = [&](int c, int added) {
      const int level = (luma + added - (kClips ? from.excess[c][i] * kExcessUnit : 0)) >> kProductShift;
      const int minimum = level > kBlackest ? level : kBlackest;
      return static_cast<int16_t>(minimum < kWhitest ? minimum : kWhitest);
    };
    red[i] = colour(0, v * m.red_v);
    green[i] = colour(1, u * m.green_u + v * m.green_v);
    blue[i] = colour(2, u * m.blue_u);
  }
}

}  // namespace

FERRY_KERNEL void to_colours(const Summed& summed, const FixedMatrix& matrix, int count, int16_t* const* colours) {
  const FixedMatrix m = matrix;
  int16_t *red = colours[0], *green = colours[1], *blue = colours[2];
  summed.excess[0] ? to_colours<true>(summed, m, count, red, green, blue)
                   : to_colours<false>(summed, m, count, red, green, blue);
}

FERRY_KERNEL void write_rounded(const int16_t* const* colours, int count, uint8_t* out) {
  const int16_t *red = colours[0], *green = colours[1], *blue = colours[2];
  const auto level = [](int16_t colour) {
    const int rounded = (colour + (kGray << kLevelBits) + (1 << (kLevelBits - 1))) >> kLevelBits;
    const int minimum = rounded > 0 ? rounded : 0;
    return static_cast<uint32_t>(minimum < 255 ? minimum : 255);
  };
  FERRY_INDEPENDENT
  for (int i = 0; i < count; ++i) write_pixel(level(red[i]), level(green[i]), level(blue[i]), out + 4 * i);
}
#endif

void convert(const Frame& frame, int x, int y, int count, uint8_t* out) {
  if (frame.samples == Frame::Samples::Rgb) {
    const auto at = [&](int plane) { return samples_at(frame, plane, x, y); };
    return write_rgb(frame, at(0), at(1), at(2), count, out);
  }
  Block block;
  Added added;
  const int pairs = (count + 1) / 2;
  read_luma(frame, x, y, count, &block);
  if (frame.samples == Frame::Samples::Yuv) {
    read_chroma(frame, x, y, pairs, &block);
    add_chroma(frame.matrix, block, pairs, &added);
  } else {
    for (float* colour : {added.red, added.green, added.blue}) std::fill(colour, colour + count, 0.0f);
  }
  write_colours(block, added, frame.matrix.luma, count, out);
}

const uint8_t* FrameRows::row(int y, int begin, int end, uint8_t* room) {
  const int first = frame_.left + begin, last = frame_.left + end;
  y += frame_.top;
  const int start = frame_.samples == Frame::Samples::Yuv ? first / 2 * 2 : first;
  uint8_t colours[4 * kBlock];
  for (int x = start; x < last; x += kBlock) {
    const int count = std::min(kBlock, last - x);
    uint8_t* to = room + int64_t{x - start} * channels_;
    convert(frame_, x, y, count, channels_ == 1 ? colours : to);
    if (channels_ == 1) to_luma(colours, count, to);
  }
  return room + (first - start) * channels_;
}

Frame frame_of(const View& rgb) {
  Frame frame;
  for (int c = 0; c < 3; ++c) frame.planes[c] = {rgb.data + c, 0, rgb.stride, 3};
  frame.width = rgb.width;
  frame.height = rgb.height;
  frame.exact = true;
  return frame;
}

}  // namespace ferry::image
