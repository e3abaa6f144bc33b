// Blocks of a frame's row to RGB.
#pragma once

#include "sdk/image/frame.h"

namespace ferry::image {

// Columns at a time at most; even, for a chroma sample is for two.
inline constexpr int kBlock = 512;
// Luma has 7 bits after the point, chroma 8, what is computed of them 5. Sums of either have 7, and are counted from
// kGray, so that what overshoots has room.
inline constexpr int kLumaShift = 7, kChromaShift = 8, kSumBits = 5, kLevelBits = 7;
inline constexpr int kGray = 128;

struct Block {
  int16_t luma[kBlock];                  // above black
  int16_t u[kBlock / 2], v[kBlock / 2];  // above kGray
};

// The upper half of the product: an instruction on most machines.
inline int16_t times(int16_t a, int16_t b) { return static_cast<int16_t>((a * b) >> 16); }

// Row `row` of plane `plane` from sample `column` on.
inline const uint8_t* samples_at(const Frame& frame, int plane, int column, int row) {
  return frame.planes[plane].data + row * frame.planes[plane].row + int64_t{column} * frame.planes[plane].pixel;
}

// Chroma whose samples alternate, of which these are the first.
inline bool in_pairs(const Frame& frame, const uint8_t* u, const uint8_t* v) {
  return frame.planes[1].pixel == 2 && (u == v + 1 || v == u + 1);
}

void read_luma(const Frame& frame, int x, int y, int count, Block* block);
void read_chroma(const Frame& frame, int x, int y, int pairs, Block* block);

// Sums of samples above kGray with kLevelBits after the point, a sample of each for a pixel, and of what clips of red,
// green and blue with kSumBits; nothing clips: null.
struct Summed {
  const int16_t *luma, *u, *v;
  const int16_t* excess[3];
};
// To red, green and blue, clipped, above kGray with kLevelBits after the point. Lines are read and written by eights.
void to_colours(const Summed& summed, const FixedMatrix& matrix, int count, int16_t* const* colours);
// Those, rounded, to RGB of 4 bytes.
void write_rounded(const int16_t* const* colours, int count, uint8_t* out);
// All of it, rounded as the colours' definition is: `count` pixels from column `x` of row `y` on; `x` is even where a
// chroma sample is for two.
void convert(const Frame& frame, int x, int y, int count, uint8_t* out);

}  // namespace ferry::image
