// Which format version a blob needs.
#pragma once

#include <cstdint>

#include "ferry_generated.h"

namespace ferry {

// The lowest that covers what the graph, and the graphs in it, use (docs/format.md, "Versions"): blobs without what
// came later go on opening in older libraries.
uint32_t format_version(const fbs::GraphT& graph);

}  // namespace ferry
