// Folders of caches.
#pragma once

#include <string>

#include "sdk/status.h"

namespace ferry {

// Creates the folder and its parents, writable by their owner only. FERRY_IO_ERROR.
Status make_folder(const std::string& folder);

// FERRY_INVALID_ARGUMENT, with a sentence: other users may put files into this folder.
Status check_folder_is_own(const std::string& folder);

// FERRY_UNSUPPORTED, with what is wrong: the open file is no regular file, belongs to another user than this one and
// root, or may be written by everybody.
Status check_file_is_own(int fd);

}  // namespace ferry
