// Answers as files.
#pragma once

#include <ferry/task.h>

#include "sdk/image/pixels.h"
#include "sdk/status.h"

namespace ferry::task {

Status save(const ferry_answer& answer, const char* path, ferry_save_style style);

// The image with the answer's mask as alpha, a PNG. FERRY_INVALID_ARGUMENT: no mask, or not of the image's size.
Status cut_out(const ferry_answer& answer, const image::View& image, const char* path);
// The same over `background`, of which the middle covers the image.
Status composite(const ferry_answer& answer, const image::View& image, const image::View& background,
                 image::Pixels* out);

// 0xRRGGBB, far apart for neighbouring indices; 0 is black.
uint32_t label_colour(int index);

}  // namespace ferry::task
