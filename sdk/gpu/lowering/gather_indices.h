// Indices into rows, stored on the device as elements of the storage type.
#pragma once

#include "sdk/gpu/lowering/op.h"

namespace ferry::gpu {

// Whether the storage type represents every index into rows of the operator's first input. FERRY_UNSUPPORTED: no.
Status check_indices(const Problem& problem);

// The same for an operator whose second input has a row of indices for each row of the first, along `axis`.
Status check_index_rows(const Problem& problem, int axis);

// Gathers from each row of the operator's first input the elements at `indices`, chosen.channels per row.
void add_gather(const Rows& rows, const Rows& chosen, const Operand& indices, const Operand& output, Lowering* out);

}  // namespace ferry::gpu
