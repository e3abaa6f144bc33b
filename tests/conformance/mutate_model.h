// Files that differ from good ones in a few fields.
#pragma once

#include <cstdint>

#include "onnx.pb.h"

namespace ferry::testing {

// `good`, which has nodes, inputs and operator sets, with one to three fields changed, removed, added or repeated: the
// same ones for the same seed.
::onnx::ModelProto mutated(const ::onnx::ModelProto& good, uint64_t seed);

}  // namespace ferry::testing
