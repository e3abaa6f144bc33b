// Ids that end a text, from the configuration files beside a checkpoint.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "converter/checkpoint/companions.h"
#include "text_generated.h"

namespace ferry {

// Replaces the ids that end a text by those at which transformers' generate() stops: `eos_token_id` of
// generation_config.json; if that file does not exist, of `config` (config.json), else of its text_config. It is an id
// or a list of ids; null and negative ids are none. The tokenizer's own `eos_token` counts if no file has the key, and
// in addition if the model has a chat template, because it ends a turn; llama2.c's tokenizers always add theirs.
// `vocabulary`: the number of logits. `notes` gets a sentence for what a user may not expect. Throws Error if
// generation_config.json is damaged or an id is not an integer.
void add_ends(const Companions& files, const nlohmann::json& config, int vocabulary, fbs::TextT* text,
              std::vector<std::string>* notes);

}  // namespace ferry
