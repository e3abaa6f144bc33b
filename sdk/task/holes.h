// Divides an inpainting mask into areas, for one run of the network each.
#pragma once

#include <vector>

#include "sdk/image/pixels.h"

namespace ferry::task {

// A part of an image: [left, right) x [top, bottom).
struct Area {
  int left = 0, top = 0, right = 0, bottom = 0;

  int width() const { return right - left; }
  int height() const { return bottom - top; }
};

// Whether the mask covers a pixel: its first sample is above 127.
inline bool covered(const image::View& mask, int x, int y) { return mask.row(y)[int64_t{x} * mask.channels] > 127; }

// Areas around the mask's holes, sorted by top edge. Holes within some `distance` pixels of each other share an area.
// Empty if the mask covers nothing.
std::vector<Area> find_holes(const image::View& mask, int distance);

// The network's input for `hole`: a square of twice its longer side, at least `side` pixels, centred on it, then moved
// and clipped to the image.
Area surroundings(const Area& hole, int side, int width, int height);

}  // namespace ferry::task
