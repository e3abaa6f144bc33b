// GPT-OSS (OpenAI, arXiv:2508.10925) from the sizes in config.json: every layer has experts, every other one sees a
// window, and attention has a sink for each head.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::gpt_oss {

// Throws Error where the configuration is not one that is built here.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::gpt_oss
