// Estimates the colours of the foreground, without the background that shows through at soft edges.
#pragma once

#include "sdk/image/pixels.h"

namespace ferry::task {

// Blur fusion (Forte, "Approximate Fast Foreground Colour Estimation", ICIP 2021) in two passes of radius 90 and 6. The
// result is RGB of `image`'s size; `matte` has one channel. FERRY_OUT_OF_MEMORY.
Status estimate_foreground(const image::View& image, const image::View& matte, image::Pixels* out);

}  // namespace ferry::task
