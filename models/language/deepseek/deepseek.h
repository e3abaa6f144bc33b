// DeepSeek-V3 (DeepSeek-AI, arXiv:2412.19437) from the sizes in config.json: latent attention, and from some layer on
// experts, of which groups are chosen first and one is shared by all tokens.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::deepseek_v3 {

// Throws Error where the configuration is not one that is built here.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::deepseek_v3
