// Part of verify(): data that the graphs of a blob share.
#pragma once

#include <cstdint>

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

// Checks the root's buffers in a data section of `data_bytes` bytes, its packed files, and the names of its graphs.
Status verify_shared(const fbs::Graph& root, uint64_t data_bytes);

// Checks that a nested graph has no field that only the root may have.
Status verify_nested(const fbs::Graph& graph);

}  // namespace ferry
