// Images as the C API knows them.
#pragma once

#include <ferry/image.h>

#include "sdk/image/pixels.h"

namespace ferry {

// The caller's pixels. FERRY_INVALID_ARGUMENT: none, sides or a stride that no image has.
Status view_of(const ferry_image& image, image::View* view);

// To the caller, who frees them.
void give(image::Pixels pixels, ferry_image* out);

}  // namespace ferry
