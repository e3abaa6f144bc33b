// tokenizer.json of the `tokenizers` library, with the tokenizer_config.json beside it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "converter/checkpoint/companions.h"
#include "text_generated.h"

namespace ferry {

// Compiles the file `name` of `files` for the blob. `notes` as in converter/text/huggingface/tokenizer_class.h. Throws
// Error if it is invalid, or with the name of an unsupported part.
std::unique_ptr<fbs::TokenizerT> read_huggingface_tokenizer(const Companions& files, const std::string& name,
                                                            std::vector<std::string>* notes);

}  // namespace ferry
