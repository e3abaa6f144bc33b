// DeepSeek-V3 (DeepSeek-AI, arXiv:2412.19437), configured by config.json: multi-head latent attention; group-limited
// mixtures of experts with a shared expert after the first dense layers.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::deepseek_v3 {

// Throws Error if a setting is not supported.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::deepseek_v3
