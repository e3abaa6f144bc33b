// Mistral (Jiang et al., arXiv:2310.06825) from the sizes in config.json: Llama whose layers see a window of the text.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::mistral {

// Throws Error where the configuration is not one that is built here.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::mistral
