// Files that hold no network which Ferry reads: other programs' formats, and what is saved in place of a file by
// mistake. They are recognised by content, so that the sentence says what the file is and what to do instead.
#pragma once

#include <string>

#include "converter/checkpoint/mapped_file.h"

namespace ferry {

// "is a TensorFlow Lite model, which Ferry does not read: ...", to follow the file's path; empty: the content is none
// of these.
std::string describe_foreign(const MappedFile& file);

}  // namespace ferry
