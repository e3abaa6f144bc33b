// generation_config.json, which says how transformers' generate() works beside a checkpoint.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "converter/checkpoint/companions.h"

namespace ferry {

inline constexpr const char* kGenerationConfig = "generation_config.json";

// Null if there is no such file. Throws Error if it is not a JSON object.
nlohmann::json read_generation_config(const Companions& files);

}  // namespace ferry
