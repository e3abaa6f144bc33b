// Generates the checkpoint of a fixture from the rules in its manifest.
#pragma once

#include <filesystem>
#include <optional>

#include "converter/checkpoint/checkpoint.h"

namespace ferry::parity {

// Writes safetensors. `cast` (F16 or BF16) rounds every float32 tensor to nearest even. A manifest with "checkpoint_of"
// uses the manifest in the sibling folder of that name. Throws Error for an unknown or incomplete rule.
void make_checkpoint(const std::filesystem::path& manifest, const std::filesystem::path& out,
                     std::optional<ElementType> cast = std::nullopt);

}  // namespace ferry::parity
