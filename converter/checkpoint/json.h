// JSON from files that nobody vouches for.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ferry {

// Throws Error, beginning with `where`, for text that is not JSON, in which an object has one key twice, or which is
// nested deeper than 500.
nlohmann::json parse_json(std::string_view text, const std::string& where);

class Checkpoint;

// The config.json, or another such file, beside the checkpoint; null where there is none. Throws Error where it is not
// JSON.
nlohmann::json read_config(const Checkpoint& checkpoint, const char* name = "config.json");
nlohmann::json read_config(const std::filesystem::path& checkpoint, const char* name = "config.json");

// For messages: in double quotes, without control characters, cut where it is very long.
std::string in_quotes(std::string_view name);

}  // namespace ferry
