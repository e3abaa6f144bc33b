#include <algorithm>
#include <cstring>

#include "sdk/image/frame_colours.h"
#include "sdk/image/preprocess.h"
#include "sdk/kernel.h"

namespace ferry::image {
namespace {

// The upper 10 of 16 bits: levels with 2 bits below.
constexpr int kWideShift = 8;

// Samples that lie side by side or at the usual distances as vectors, others one by one.
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

// One copy for luma and chroma: it is large.
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

uint32_t level(int sum) {
  const int rounded = (sum + (1 << (kSumBits - 1))) >> kSumBits;
  return static_cast<uint32_t>(rounded < 0 ? 0 : rounded > 255 ? 255 : rounded);
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

FERRY_KERNEL void add_chroma(const YuvMatrix& matrix, int pairs, Block* block) {
  const YuvMatrix m = matrix;
  FERRY_INDEPENDENT
  for (int i = 0; i < pairs; ++i) {
    const int16_t red = times(block->v[i], m.red_v), blue = times(block->u[i], m.blue_u);
    const auto green = static_cast<int16_t>(times(block->u[i], m.green_u) + times(block->v[i], m.green_v));
    block->red[2 * i] = block->red[2 * i + 1] = red;
    block->green[2 * i] = block->green[2 * i + 1] = green;
    block->blue[2 * i] = block->blue[2 * i + 1] = blue;
  }
}

FERRY_KERNEL void write_colours(const Block& block, int16_t gain, int count, uint8_t* out) {
  FERRY_INDEPENDENT
  for (int i = 0; i < count; ++i) {
    const int16_t luma = times(block.luma[i], gain);
    const uint32_t red = level(luma + block.red[i]), green = level(luma + block.green[i]);
    const uint32_t pixel = red | green << 8 | level(luma + block.blue[i]) << 16;
    std::memcpy(out + 4 * i, &pixel, sizeof(pixel));
  }
}

void convert(const Frame& frame, int x, int y, int count, uint8_t* out) {
  if (frame.samples == Frame::Samples::Rgb) {
    const auto at = [&](int plane) { return samples_at(frame, plane, x, y); };
    return write_rgb(frame, at(0), at(1), at(2), count, out);
  }
  Block block;
  const int pairs = (count + 1) / 2;
  read_luma(frame, x, y, count, &block);
  if (frame.samples == Frame::Samples::Yuv) {
    read_chroma(frame, x, y, pairs, &block);
    add_chroma(frame.matrix, pairs, &block);
  } else {
    for (int16_t* colour : {block.red, block.green, block.blue}) std::fill(colour, colour + count, int16_t{0});
  }
  write_colours(block, frame.matrix.luma, count, out);
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
  for (int c = 0; c < 3; ++c) frame.planes[c] = {rgb.data + c, rgb.stride, 3};
  frame.width = rgb.width;
  frame.height = rgb.height;
  frame.exact = true;
  return frame;
}

}  // namespace ferry::image
