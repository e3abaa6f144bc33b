// Qwen2 and 2.5 (Yang et al., arXiv:2407.10671) and Qwen3 (arXiv:2505.09388) from the sizes in config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::qwen {

// Of model_type qwen2 and qwen3. Throw Error where the configuration is not one that is built here.
language::Network network_2(const nlohmann::json& config);
language::Network network_3(const nlohmann::json& config);

}  // namespace ferry::qwen
