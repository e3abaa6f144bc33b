// tokenizer.model: SentencePiece's ModelProto (sentencepiece_model.proto).
#pragma once

#include <memory>
#include <string>

#include "converter/checkpoint/companions.h"
#include "text_generated.h"

namespace ferry {

// Compiles BPE and Unigram models with their normalizer for the blob. Control symbols are special tokens; they and
// user-defined symbols match anywhere in a text. add_bos_token and add_eos_token of the tokenizer_config.json beside it
// decide what is added to a text; without them, the beginning. Throws Error with the name of an unsupported part.
std::unique_ptr<fbs::TokenizerT> read_sentencepiece(const Companions& files, const std::string& name);

}  // namespace ferry
