// Gemma 3's text model (arXiv:2503.19786) from the sizes in config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::gemma3 {

// Throws Error where the configuration is not one that is built here.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::gemma3
