// Caches of three dimensions, in which heads and samples are one: [heads,T,channels], as early versions of Falcon have
// them, or for keys [heads,channels,T], as Bloom has.
#pragma once

#include "converter/onnx/model.h"

namespace ferry::onnx {

// Makes inputs and outputs that are such caches [1,heads,T,channels].
void separate_heads(Model* model);

}  // namespace ferry::onnx
