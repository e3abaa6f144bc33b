// What frame_clipping.cc asks of a frame's samples, in vectors.
#pragma once

#include "sdk/image/frame_colours.h"

namespace ferry::image {

inline constexpr int kCell = Clipping::kCell, kPairs = kCell / 2;
inline constexpr int kLumaRows = 2 * Clipping::kGroup;  // of a group, at most

// Samples of a cell or, side by side, of several. Of a group's rows: there are as many where the frame ends, some of
// them twice. Of two rows that share one of chroma: the first of those.
struct Samples {
  const uint8_t* luma[kLumaRows];
  const uint8_t *u[Clipping::kGroup], *v[Clipping::kGroup];
  bool pairs;  // chroma alternates
};

// May cells that lie side by side have pixels that clip?
void find_clipping(const Samples& samples, const Clipping::Steps& steps, int cells, uint8_t* found);
// Of two rows of a cell, weighted: see Clipping::add().
int add_two(const Samples& samples, const int16_t* weights, const FixedMatrix& matrix, int16_t* const* sums);

}  // namespace ferry::image
