// GPT-OSS (OpenAI, arXiv:2508.10925), configured by config.json: experts in every layer, a sliding window in every
// other one, an attention sink per head.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::gpt_oss {

// Throws Error if a setting is not supported.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::gpt_oss
