// tokenizer.model: SentencePiece's own file, a message ModelProto of its sentencepiece_model.proto.
#pragma once

#include <filesystem>
#include <memory>

#include "text_generated.h"

namespace ferry {

// Compiled for the blob: BPE and Unigram, with their normalizer; control symbols are special tokens, user-defined ones
// and they are found wherever they are written. Throws Error, which names what is not built.
std::unique_ptr<fbs::TokenizerT> read_sentencepiece(const std::filesystem::path& file);

}  // namespace ferry
