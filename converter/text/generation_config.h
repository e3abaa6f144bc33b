// generation_config.json, which says how transformers' generate() works beside a checkpoint.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace ferry {

inline constexpr const char* kGenerationConfig = "generation_config.json";

// Null if the folder has no such file. Throws Error if it is not a JSON object.
nlohmann::json read_generation_config(const std::filesystem::path& folder);

}  // namespace ferry
