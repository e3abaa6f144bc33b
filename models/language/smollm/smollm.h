// SmolLM3 from the sizes in config.json: Llama in which some layers are not told the places of tokens (NoPE, Yang et
// al., arXiv:2501.18795).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::smollm3 {

// Throws Error where the configuration is not one that is built here.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::smollm3
