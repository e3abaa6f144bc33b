// Places in rows: numbers on the device, as elements of the storage's type.
#pragma once

#include "sdk/gpu/lowering/op.h"

namespace ferry::gpu {

// Can elements be the places in rows of the operator's first input? FERRY_UNSUPPORTED: no.
Status check_places(const Problem& problem);

// The same for an operator whose second input has a row of them for each row of the first, along `axis`.
Status check_rows_of_places(const Problem& problem, int axis);

// Writes what stands in the rows of the operator's first input at `places`, as many a row as `chosen` has.
void add_gather(const Rows& rows, const Rows& chosen, const Operand& places, const Operand& output, Lowering* out);

}  // namespace ferry::gpu
