// Conversion between ferry_image and image::View, image::Pixels.
#pragma once

#include <ferry/image.h>

#include "sdk/image/pixels.h"

namespace ferry {

// A view of the caller's pixels. FERRY_INVALID_ARGUMENT: NULL pixels, or an invalid size or stride.
Status view_of(const ferry_image& image, image::View* view);

// Transfers ownership to the caller, who frees them with ferry_image_free().
void give(image::Pixels pixels, ferry_image* out);

}  // namespace ferry
