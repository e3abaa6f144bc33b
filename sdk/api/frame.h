// Frames as the C API knows them.
#pragma once

#include <ferry/image.h>

#include "sdk/image/frame.h"

namespace ferry {

// Checked whole: what it gives can be read. FERRY_INVALID_ARGUMENT.
Status read_frame(const ferry_frame& given, image::Frame* out);

}  // namespace ferry
