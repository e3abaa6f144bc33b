// GGUF files of language models as checkpoints: tensors with transformers' keys, and the files of a hub folder made
// from the metadata, so that families and tokenizers read both in one way.
#pragma once

#include <memory>
#include <string_view>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/mapped_file.h"

namespace ferry::gguf {

bool looks_like_gguf(std::string_view text);

// Opens a file, or all parts of a split one (model-00001-of-00003.gguf) by any of them. Values are decoded when read;
// llama.cpp's changes are undone: rows of queries and keys in another order, norms that hold 1 + weight. Throws Error
// for an architecture, type, tensor or tokenizer that Ferry does not read; all such tensors are named at once.
std::shared_ptr<const Checkpoint> open_gguf(std::shared_ptr<const MappedFile> file);

}  // namespace ferry::gguf
