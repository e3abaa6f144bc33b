// MXFP4, the 4-bit format of OCP Microscaling Formats (MX), version 1.0, as in GPT-OSS checkpoints: blocks of 32 E2M1
// elements along a row share a power-of-two scale.
#pragma once

#include <string>
#include <vector>

#include "converter/checkpoint/checkpoint.h"

namespace ferry {

inline constexpr int kMxfp4Block = 32;

// `blocks` U8 [..., n / 32, 16]: two elements per byte, the first in the lower nibble. `scales` U8 [..., n / 32]: the
// exponent plus 127. Throws Error with `key` if type or shape differ.
void check_mxfp4(const CheckpointTensor& blocks, const CheckpointTensor& scales, const std::string& key);

// Decodes all elements [..., n], exactly.
std::vector<float> read_mxfp4(const CheckpointTensor& blocks, const CheckpointTensor& scales);

}  // namespace ferry
