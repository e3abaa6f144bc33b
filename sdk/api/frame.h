// Conversion of ferry_frame to image::Frame.
#pragma once

#include <ferry/image.h>

#include "sdk/image/frame.h"

namespace ferry {

// Checks the whole frame: memory of *out can be read. FERRY_INVALID_ARGUMENT.
Status read_frame(const ferry_frame& given, image::Frame* out);

}  // namespace ferry
