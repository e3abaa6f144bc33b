// Pillow's resize, bit for bit: what the frameworks' preprocessing calls, and what the published accuracies rest on.
#pragma once

#include "ferry_generated.h"
#include "sdk/image/pixels.h"

namespace ferry::image {

// Scales `source` (1 to 4 channels) to width x height as Pillow's Image.resize does for 8-bit pictures: every filter
// but Nearest is antialiased (its support grows with the reduction), horizontal pass first, coefficients in 22-bit
// fixed point, each pass rounded and clipped to 8 bits. Source of the formulas: Pillow, src/libImaging/Resample.c.
Status resize(const View& source, int width, int height, fbs::Filter filter, Pixels* out);

}  // namespace ferry::image
