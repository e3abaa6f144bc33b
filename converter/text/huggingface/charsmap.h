// SentencePiece's precompiled_charsmap: texts and what a normalizer makes of them, as a double array (darts-clone,
// Yata):
//
//     uint32 bytes of the array, its units (uint32), then the texts that keys become, each ended by a zero
#pragma once

#include <string>
#include <string_view>

#include "converter/text/huggingface/unicode_steps.h"

namespace ferry {

// Throws Error, beginning with `where`, for what is none.
Mapping read_charsmap(std::string_view bytes, const std::string& where);

}  // namespace ferry
