// One function a file: lowers its table of the schema. Listed in ops.cc.
#pragma once

#include "sdk/gpu/op.h"

namespace ferry::gpu {

Status lower_elementwise(const Problem& problem, int alternative, Lowering* out);

}  // namespace ferry::gpu
