// Of verify(): what the graphs of a blob share, and how they lie in it.
#pragma once

#include <cstdint>

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

// The root's buffers in a data section of `data_bytes` bytes, its packed files, and the names of its graphs.
Status verify_shared(const fbs::Graph& root, uint64_t data_bytes);

// One of the root's graphs has nothing that only the root may have.
Status verify_nested(const fbs::Graph& graph);

}  // namespace ferry
