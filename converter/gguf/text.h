// The tokenizer and chat template of a GGUF file, as the files of a hub folder.
#pragma once

#include "converter/checkpoint/companions.h"
#include "converter/gguf/metadata.h"

namespace ferry::gguf {

// tokenizer.json (byte-level BPE) or tokenizer.model (SentencePiece), tokenizer_config.json with the special tokens and
// the chat template, and generation_config.json with the ids that end a text. Empty without a tokenizer. `notes` gets
// a sentence for what a user may not expect. Throws Error for a tokenizer or pre-tokenizer that Ferry does not read.
Companions::Texts text_files_of(const Metadata& metadata, std::vector<std::string>* notes);

}  // namespace ferry::gguf
