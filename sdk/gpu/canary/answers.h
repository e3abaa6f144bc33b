// The reference's functions that canaries need.
#pragma once

#include "sdk/reference/reference.h"

namespace ferry::gpu {

// The function that computes an operator's known answers. Null for an operator without a GPU kernel, and for one that
// this library was built without.
reference::Function answers_of(fbs::OpParams type);

}  // namespace ferry::gpu
