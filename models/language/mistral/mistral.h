// Mistral (Jiang et al., arXiv:2310.06825), configured by config.json: Llama with sliding-window attention.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::mistral {

// Throws Error if a setting is not supported.
language::Network network(const nlohmann::json& config);
// Mixtral.
language::Network network_of_experts(const nlohmann::json& config);

}  // namespace ferry::mistral
