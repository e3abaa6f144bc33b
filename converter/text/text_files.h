// What lies beside a checkpoint and says how text becomes token ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "text_generated.h"

namespace ferry {

// Compiled for the blob, the tokenizer from the first of these in `folder` that exists: tokenizer.json (with
// tokenizer_config.json), tokenizer.model (SentencePiece's), tok<vocabulary>.bin, tokenizer.bin (llama2.c's). With the
// chat template (converter/text/chat_template.h). Null where there is neither. Throws Error where the file is none that
// is built, and llama2.c's where it does not fit a network of that vocabulary. In the desktop's converter alone.
std::unique_ptr<fbs::TextT> text_in(const std::filesystem::path& folder, int vocabulary);

// The bytes of Graph.text. Throws Error where libferry_text would refuse them.
std::vector<uint8_t> packed(const fbs::TextT& text);

}  // namespace ferry
