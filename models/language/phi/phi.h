// Phi-3 (Abdin et al., arXiv:2404.14219) and Phi-4-mini (arXiv:2503.01743) from the sizes in config.json: Llama with
// fused products, of whose heads a part may turn.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::phi3 {

// Throws Error where the configuration is not one that is built here.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::phi3
