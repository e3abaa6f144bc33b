// Parses JSON of untrusted files.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ferry {

// Throws Error that begins with `where` if the text is not JSON, an object has a duplicate key, or nesting exceeds 500.
nlohmann::json parse_json(std::string_view text, const std::string& where);

class Checkpoint;

// Reads config.json, or another file, beside the checkpoint; null if it does not exist. Throws Error if it is not JSON.
nlohmann::json read_config(const Checkpoint& checkpoint, const char* name = "config.json");

// For messages: adds double quotes, removes control characters, truncates very long names.
std::string in_quotes(std::string_view name);

}  // namespace ferry
