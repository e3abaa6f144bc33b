// Weighted sums of lines: of a frame's rows, and of converted lines.
#pragma once

#include <cstdint>

namespace ferry::image {

// More rows would overflow 16-bit sums, and their rounding errors would be visible.
inline constexpr int kMaxRows = 128;
// add_lines() reads and writes samples in multiples of this.
inline constexpr int kTogether = 32;

// Adds weighted rows `stride` bytes apart, with samples `step` bytes apart. The results are levels relative to kGray
// with kLevelBits fractional bits.
void add_rows(const uint8_t* from, int64_t stride, int step, const int16_t* weights, int rows, int count,
              int16_t* sums);
// Separates interleaved chroma sums.
void separate(const int16_t* both, int pairs, int16_t* first, int16_t* second);
// Repeats each chroma sample for two columns.
void spread(const int16_t* chroma, int count, int16_t* out);
// Weighted sums of lines.
void add_lines(const int16_t* const* lines, const int16_t* weights, int rows, int count, int16_t* out);

}  // namespace ferry::image
