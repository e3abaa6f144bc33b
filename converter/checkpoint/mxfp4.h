// MXFP4, the microscaling format of four bits a number (Open Compute Project, OCP Microscaling Formats (MX), version
// 1.0), as checkpoints of GPT-OSS hold it: blocks of 32 numbers along a row, each of them E2M1, which share a power of
// two.
#pragma once

#include <string>
#include <vector>

#include "converter/checkpoint/checkpoint.h"

namespace ferry {

inline constexpr int kMxfp4Block = 32;

// `blocks` U8 [..., n / 32, 16], two numbers a byte, the first one in its lower half; `scales` U8 [..., n / 32], the
// exponent plus 127. Throws Error, naming `key`, where they are not that.
void check_mxfp4(const CheckpointTensor& blocks, const CheckpointTensor& scales, const std::string& key);

// All numbers [..., n], exactly.
std::vector<float> read_mxfp4(const CheckpointTensor& blocks, const CheckpointTensor& scales);

}  // namespace ferry
