// Writes answers to files.
#pragma once

#include <ferry/task.h>

#include "sdk/image/pixels.h"
#include "sdk/status.h"

namespace ferry::task {

Status save(const ferry_answer& answer, const char* path, ferry_save_style style);

// Writes the image with the answer's mask as alpha to a PNG. FERRY_INVALID_ARGUMENT: no mask, or not of the image's
// size.
Status save_foreground(const ferry_answer& answer, const image::View& image, const char* path);
// Composites the image over `background`, whose centre is cropped to cover the image.
Status composite(const ferry_answer& answer, const image::View& image, const image::View& background,
                 image::Pixels* out);

// 0xRRGGBB, distinct for neighbouring indices; 0 is black.
uint32_t label_colour(int index);

}  // namespace ferry::task
