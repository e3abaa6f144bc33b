// Answers as files.
#pragma once

#include <ferry/task.h>

#include "sdk/status.h"

namespace ferry::task {

Status save(const ferry_answer& answer, const char* path, ferry_save_style style);

// 0xRRGGBB, far apart for neighbouring indices; 0 is black.
uint32_t label_colour(int index);

}  // namespace ferry::task
