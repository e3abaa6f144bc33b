// Gemma 3's text model (arXiv:2503.19786), configured by config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::gemma3 {

// Throws Error if a setting is not supported.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::gemma3
