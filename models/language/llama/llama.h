// Llama (Touvron et al., arXiv:2302.13971), configured by config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::llama {

// Throws Error if a setting is not supported.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::llama
