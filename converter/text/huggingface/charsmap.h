// SentencePiece's precompiled_charsmap: a map from texts to normalized texts as a double array (darts-clone, Yata):
//
//     uint32 size of the array in bytes, its units (uint32), then the zero-terminated normalized texts
#pragma once

#include <string>
#include <string_view>

#include "converter/text/huggingface/unicode_steps.h"

namespace ferry {

// Throws Error that begins with `where` if it is invalid.
Mapping read_charsmap(std::string_view bytes, const std::string& where);

}  // namespace ferry
