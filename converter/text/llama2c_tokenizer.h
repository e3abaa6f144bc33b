// llama2.c's tokenizer files (tokenizer.bin, tok512.bin, tok4096.bin): a SentencePiece BPE model as its tokenizer.py
// writes it, little endian:
//
//     int32 longest                                  bytes of the longest piece
//     vocabulary times: float32 score, int32 bytes, the piece's bytes
//
// Ids 0 to 2 are the unknown piece, the beginning and the end of a text; 3 to 258 are "<0x00>" to "<0xFF>".
#pragma once

#include <filesystem>
#include <memory>

#include "text_generated.h"

namespace ferry {

// The file names no size: `vocabulary` is the network's. Throws Error where the file is not such a one.
std::unique_ptr<fbs::TokenizerT> read_llama2c_tokenizer(const std::filesystem::path& file, int vocabulary);

}  // namespace ferry
