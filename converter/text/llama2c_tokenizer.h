// llama2.c's tokenizer files (tokenizer.bin, tok512.bin, tok4096.bin): a SentencePiece BPE model in the format of its
// tokenizer.py, little-endian:
//
//     int32 longest                                  size of the longest piece in bytes
//     vocabulary times: float32 score, int32 bytes, the piece's bytes
//
// Ids 0 to 2 are the unknown piece, begin and end of text; 3 to 258 are "<0x00>" to "<0xFF>".
#pragma once

#include <filesystem>
#include <memory>

#include "text_generated.h"

namespace ferry {

// `vocabulary`: size of the network's vocabulary, which the file does not contain. Throws Error if the file is invalid.
std::unique_ptr<fbs::TokenizerT> read_llama2c_tokenizer(const std::filesystem::path& file, int vocabulary);

}  // namespace ferry
