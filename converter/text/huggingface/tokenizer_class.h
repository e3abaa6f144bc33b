// What transformers' tokenizer classes add around a text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "converter/checkpoint/companions.h"
#include "text_generated.h"

namespace ferry::huggingface {

// Sets the tokens before and after a text, and `bos`, by the tokenizer_config.json beside tokenizer.json. `table` has
// the pieces and what the post-processor of tokenizer.json says.
//
// transformers 4 rebuilds the post-processor of some classes (LlamaTokenizerFast, GemmaTokenizerFast, ...) from
// add_bos_token and add_eos_token; for a missing one the class has a default. For every other class, the post-processor
// of tokenizer.json decides and the flags have no effect. transformers 5 saves what it uses in tokenizer.json, writes
// "backend" and no flags: such files are followed, too.
// `notes` gets a sentence if a default changes texts. Throws Error if a file is invalid.
void apply_tokenizer_class(const Companions& files, fbs::TokenizerT* table, std::vector<std::string>* notes);

// The same for the SentencePiece model among `files`: all classes obey the flags.
void apply_flags(const Companions& files, fbs::TokenizerT* table);

}  // namespace ferry::huggingface
