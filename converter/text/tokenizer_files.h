// The tokenizer that lies beside a checkpoint.
#pragma once

#include <filesystem>
#include <memory>

#include "ferry_generated.h"

namespace ferry {

// Compiled for the blob, from the first of these in `folder` that exists: tok<vocabulary>.bin, tokenizer.bin
// (llama2.c's). Null where there is none. Throws Error where the file does not fit a network of that vocabulary.
std::unique_ptr<fbs::TokenizerT> tokenizer_in(const std::filesystem::path& folder, int vocabulary);

}  // namespace ferry
