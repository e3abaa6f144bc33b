// The checkpoint that a fixture was computed with, made from the rules in its manifest.
#pragma once

#include <filesystem>
#include <optional>

#include "converter/checkpoint/checkpoint.h"

namespace ferry::parity {

// Writes safetensors; `cast` (F16 or BF16) rounds every float32 tensor to nearest even. A manifest with "checkpoint_of"
// stands for the one in the folder of that name beside its own. Throws Error for a rule that is not known or not whole.
void make_checkpoint(const std::filesystem::path& manifest, const std::filesystem::path& out,
                     std::optional<ElementType> cast = std::nullopt);

}  // namespace ferry::parity
