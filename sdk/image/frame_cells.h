// Vectorised loops of frame_clipping.cc over a frame's samples.
#pragma once

#include "sdk/image/frame_colours.h"

namespace ferry::image {

inline constexpr int kCell = Clipping::kCell, kPairs = kCell / 2;
inline constexpr int kLumaRows = 2 * Clipping::kGroup;  // maximum rows of a group

// Samples of one cell or of adjacent cells. Rows of a group: at the frame's end some rows are repeated. For two rows
// that share a chroma row: the first of them.
struct Samples {
  const uint8_t* luma[kLumaRows];
  const uint8_t *u[Clipping::kGroup], *v[Clipping::kGroup];
  bool pairs;  // U and V are interleaved
};

// Finds which of the adjacent cells may contain pixels that clip.
void find_clipping(const Samples& samples, const Clipping::Steps& steps, int cells, uint8_t* found);
// Adds two weighted rows of a cell: see Clipping::add().
int add_two(const Samples& samples, const int16_t* weights, const FixedMatrix& matrix, int16_t* const* sums);

}  // namespace ferry::image
