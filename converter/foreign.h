// Describes files that Ferry cannot read: formats of other programs, and pages or pointers saved by mistake. The
// description says what the file is, by its content, and what to do.
#pragma once

#include <string>

#include "converter/checkpoint/mapped_file.h"

namespace ferry {

// "is a JPEG image, not a network; ...", to follow the file's path. Empty for unknown content.
std::string describe_foreign(const MappedFile& file);

}  // namespace ferry
