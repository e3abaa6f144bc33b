// Files that differ from valid ones in a few fields.
#pragma once

#include <cstdint>

#include "onnx.pb.h"

namespace ferry::testing {

// `good` has nodes, inputs and operator sets. One to three fields are changed, removed, added or repeated,
// deterministically by seed.
::onnx::ModelProto mutated(const ::onnx::ModelProto& good, uint64_t seed);

}  // namespace ferry::testing
