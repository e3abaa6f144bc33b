// Phi-3 (Abdin et al., arXiv:2404.14219) and Phi-4-mini (arXiv:2503.01743), configured by config.json: Llama with fused
// projections and optional partial rotary embedding.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::phi3 {

// Throws Error if a setting is not supported.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::phi3
