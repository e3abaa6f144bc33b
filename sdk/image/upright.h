// A frame's pixels, for tasks that crop it themselves.
#pragma once

#include "sdk/image/frame.h"
#include "sdk/image/pixels.h"

namespace ferry::image {

// The upright image of a frame in the app's memory, as RGB.
Status upright(const Frame& frame, Pixels* out);

}  // namespace ferry::image
