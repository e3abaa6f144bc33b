// tokenizer.json, as the `tokenizers` library writes it, with the tokenizer_config.json beside it.
#pragma once

#include <filesystem>
#include <memory>

#include "text_generated.h"

namespace ferry {

// Compiled for the blob. Throws Error, which names what is not built, where the file is none that is.
std::unique_ptr<fbs::TokenizerT> read_huggingface_tokenizer(const std::filesystem::path& file);

}  // namespace ferry
