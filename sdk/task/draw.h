// Draws boxes and lines of answers on their image.
#pragma once

#include <ferry/task.h>

#include "sdk/image/pixels.h"
#include "sdk/status.h"

namespace ferry::task {

// FERRY_INVALID_ARGUMENT: the answer has neither boxes nor lines.
Status draw(const ferry_answer& answer, const image::View& image, image::Pixels* out);

}  // namespace ferry::task
