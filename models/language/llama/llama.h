// Llama (Touvron et al., arXiv:2302.13971; grouped queries: arXiv:2307.09288) in transformers' names, from the sizes in
// config.json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/language/language_model.h"

namespace ferry::llama {

struct Config {
  int vocabulary, width, depth;
  int heads, kv_heads, head;  // `head`: channels of one
  int hidden;                 // of the MLP
  double epsilon;
  language::Rope rope;
  bool attention_bias, mlp_bias;
  bool tied;  // the head's weights are the embedding's
};

// Throws Error where the configuration is not one that is built here.
language::Network network(const nlohmann::json& config);

}  // namespace ferry::llama
