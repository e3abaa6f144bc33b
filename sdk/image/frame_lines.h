// Sums of a frame's lines: of bytes that lie in rows, and of what was made of them.
#pragma once

#include <cstdint>

namespace ferry::image {

// More would overflow sums of 16 bits, and their rounding be seen.
inline constexpr int kMaxRows = 128;
// Samples of lines that add_lines() reads and writes together.
inline constexpr int kTogether = 32;

// Adds up rows `stride` bytes apart, whose samples are `step` bytes apart, to levels above kGray with kLevelBits after
// the point.
void add_rows(const uint8_t* from, int64_t stride, int step, const int16_t* weights, int rows, int count,
              int16_t* sums);
// Sums of chroma in pairs.
void separate(const int16_t* both, int pairs, int16_t* first, int16_t* second);
// A sample for each column of one for each two.
void spread(const int16_t* chroma, int count, int16_t* out);
// Weighted sums of lines.
void add_lines(const int16_t* const* lines, const int16_t* weights, int rows, int count, int16_t* out);

}  // namespace ferry::image
