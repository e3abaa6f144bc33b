// The classes' names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ferry {

// One a line. Throws Error where the file cannot be read.
std::vector<std::string> read_labels(const std::filesystem::path& path);

}  // namespace ferry
