// Gemma 2 (arXiv:2408.00118) and Gemma 3's text model (arXiv:2503.19786), configured by config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::gemma {

// Throws Error if a setting is not supported.
language::Network network_2(const nlohmann::json& config);
language::Network network_3(const nlohmann::json& config);

}  // namespace ferry::gemma
