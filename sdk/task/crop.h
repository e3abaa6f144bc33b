// Crops of an image along the sides of any rectangle.
#pragma once

#include "sdk/image/pixels.h"
#include "sdk/task/lines.h"

namespace ferry::task {

// Samples the box bilinearly, `width` pixels along it and `height` down; beyond the image, edge pixels are repeated.
Status crop(const image::View& image, const LineBox& box, int width, int height, image::Pixels* out);

}  // namespace ferry::task
