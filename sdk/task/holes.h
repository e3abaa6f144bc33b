// The parts of a mask that an inpainting network is run for, one after the other.
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

// What covers a pixel: its first sample above 127.
inline bool covered(const image::View& mask, int x, int y) { return mask.row(y)[int64_t{x} * mask.channels] > 127; }

// Areas around the mask's holes that are further than some `distance` pixels apart; those nearer to each other share
// one. In the order of their top edges. None: the mask covers nothing.
std::vector<Area> find_holes(const image::View& mask, int distance);

// What the network is to see for `hole`: the square of twice its longer side, at least `side` pixels, in the middle of
// which it lies, moved into the image and cut to it.
Area surroundings(const Area& hole, int side, int width, int height);

}  // namespace ferry::task
