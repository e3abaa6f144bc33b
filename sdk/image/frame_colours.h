// Converts blocks of a frame's row to RGB.
#pragma once

#include "sdk/image/frame.h"

namespace ferry::image {

// Maximum columns of a block; even, because a chroma sample covers two.
inline constexpr int kBlock = 512;
// Fractional bits: luma 7, chroma 8, results of both 5. Sums have 7 and are relative to kGray, which leaves room for
// overshoot.
inline constexpr int kLumaShift = 7, kChromaShift = 8, kSumBits = 5, kLevelBits = 7;
inline constexpr int kGray = 128;

struct Block {
  int16_t luma[kBlock];                  // above black
  int16_t u[kBlock / 2], v[kBlock / 2];  // above kGray
};

// The upper half of the product: one instruction on most machines.
inline int16_t times(int16_t a, int16_t b) { return static_cast<int16_t>((a * b) >> 16); }

// The samples of row `row` in plane `plane`, from `column` on.
inline const uint8_t* samples_at(const Frame& frame, int plane, int column, int row) {
  return frame.planes[plane].data + row * frame.planes[plane].row + int64_t{column} * frame.planes[plane].pixel;
}

// Whether these are the first samples of interleaved chroma.
inline bool in_pairs(const Frame& frame, const uint8_t* u, const uint8_t* v) {
  return frame.planes[1].pixel == 2 && (u == v + 1 || v == u + 1);
}

void read_luma(const Frame& frame, int x, int y, int count, Block* block);
void read_chroma(const Frame& frame, int x, int y, int pairs, Block* block);

// Weighted sums of samples relative to kGray with kLevelBits fractional bits, one per pixel, and the clipping excess of
// red, green and blue with kSumBits; null if nothing clips.
struct Summed {
  const int16_t *luma, *u, *v;
  const int16_t* excess[3];
};
// Converts sums to clipped red, green and blue, relative to kGray, with kLevelBits fractional bits. Lines are read and
// written in multiples of 8.
void to_colours(const Summed& summed, const FixedMatrix& matrix, int count, int16_t* const* colours);
// Rounds colours to RGB with 4 bytes per pixel.
void write_rounded(const int16_t* const* colours, int count, uint8_t* out);
// Converts `count` pixels of row `y` from column `x` on, rounded as the colours' definition. `x` is even if a chroma
// sample covers two columns.
void convert(const Frame& frame, int x, int y, int count, uint8_t* out);

}  // namespace ferry::image
