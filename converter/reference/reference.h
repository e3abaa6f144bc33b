// The reference (sdk/reference) with the converter's errors.
#pragma once

#include <span>
#include <vector>

#include "sdk/reference/reference.h"

namespace ferry::reference {

// The first output of `op` for these inputs and the graph's states. `quantization`: of an Int8 output. Throws Error
// where they do not fit.
Array compute(const fbs::Operator& op, Inputs inputs, std::span<const State> states = {},
              const Type& quantization = {});

// All outputs that `op` names. Throws Error likewise.
std::vector<Array> compute_all(const fbs::Operator& op, Inputs inputs, std::span<const State> states = {},
                               const Type& quantization = {});

}  // namespace ferry::reference
