// Class names.
#pragma once

#include "ferry_generated.h"

namespace ferry::task {

// "" if the graph has no name for that class.
const char* label_of(const fbs::Graph& graph, int index);

}  // namespace ferry::task
