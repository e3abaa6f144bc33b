// tokenizer.json of the `tokenizers` library, with the tokenizer_config.json beside it.
#pragma once

#include <filesystem>
#include <memory>

#include "text_generated.h"

namespace ferry {

// Compiles it for the blob. Throws Error if it is invalid, or with the name of an unsupported part.
std::unique_ptr<fbs::TokenizerT> read_huggingface_tokenizer(const std::filesystem::path& file);

}  // namespace ferry
