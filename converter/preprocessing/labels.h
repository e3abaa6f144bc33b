// The classes' names.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

// Without the ends of lines, of which a carriage return is one.
std::vector<std::string> lines_of(std::string_view text);

// One a line. Throws Error where the file cannot be read.
std::vector<std::string> read_labels(const std::filesystem::path& path);
// Likewise, and where they are not as many as the classes.
std::vector<std::string> read_labels(const std::filesystem::path& path, int classes);

// id2label of transformers' config.json, in the order of the ids; empty where the names are only "LABEL_<id>". Throws
// Error where a class has none.
std::vector<std::string> transformers_labels(const nlohmann::json& config);

}  // namespace ferry
