// Reads the tokenizer beside a checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "converter/checkpoint/companions.h"
#include "text_generated.h"

namespace ferry {

// Compiles the first of these files for the blob: tokenizer.json (with tokenizer_config.json),
// tokenizer.model (SentencePiece), tok<vocabulary>.bin, tokenizer.bin (llama2.c); and the chat template
// (converter/text/chat_template.h). Null if there is neither. `notes` gets sentences about what a user may not expect.
// Throws Error for an unsupported file, and for llama2.c's if it does not match `vocabulary`. Only in the desktop's
// converter.
std::unique_ptr<fbs::TextT> text_in(const Companions& files, int vocabulary, std::vector<std::string>* notes);

// The same, and the ids that end a text (converter/text/ends.h). `config`: config.json, null if there is none.
// `vocabulary`: the number of the network's logits; a tokenizer may have more or fewer pieces. Notes also if there is
// no tokenizer, and if the chat template cannot be parsed.
fbs::TextT text_of_model(const Companions& files, const nlohmann::json& config, int vocabulary,
                         std::vector<std::string>* notes);

// Serializes Graph.text. Throws Error if libferry_text would reject it.
std::vector<uint8_t> packed(const fbs::TextT& text);

}  // namespace ferry
