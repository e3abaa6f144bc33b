// SmolLM3, configured by config.json: Llama with some layers without position encoding (NoPE, Yang et al.,
// arXiv:2501.18795).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::smollm3 {

// Throws Error if a setting is not supported.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::smollm3
