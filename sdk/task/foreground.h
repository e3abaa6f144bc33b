// The colours of what stands in front, without what shines through at its edge.
#pragma once

#include "sdk/image/pixels.h"

namespace ferry::task {

// Blur fusion (Forte, "Approximate Fast Foreground Colour Estimation", ICIP 2021) in two passes of radius 90 and 6: RGB
// of `image`'s size, by a matte of one channel. FERRY_OUT_OF_MEMORY.
Status estimate_foreground(const image::View& image, const image::View& matte, image::Pixels* out);

}  // namespace ferry::task
