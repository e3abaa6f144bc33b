// The format version that a blob requires.
#pragma once

#include <cstdint>

#include "ferry_generated.h"

namespace ferry {

// The minimum version that covers the features of the graph and of the graphs in it (docs/format.md, "Versions"): blobs
// without new features open in older libraries.
uint32_t format_version(const fbs::GraphT& graph);

}  // namespace ferry
