// A strided copy of elements: maps every output coordinate to an input position.
#pragma once

#include <vector>

#include "sdk/gpu/lowering/op.h"

namespace ferry::gpu {

// One dimension of the output, outermost first; the last one is the last dimension of the output's shape.
struct CopiedDim {
  int32_t size;        // of the output
  int64_t stride;      // elements of the input per coordinate, padding lanes included
  int32_t before = 0;  // output coordinates before the input's first one
  int32_t limit = 0;   // input coordinates from there; 0: as many as the output's
};

// `base`: input element of the first coordinates. At most six dimensions. `input`, `output`: as in Call.
Status add_strided_copy(std::vector<CopiedDim> dims, int64_t base, float fill, Lowering* out, const Operand& input = {},
                        const Operand& output = {});
// Copies the same elements to rows of another length.
void add_reshape(const Rows& from, const Rows& to, const Operand& input, const Operand& output, Lowering* out);

// Elements from one coordinate of dimension `d` to the next, padding lanes included.
int64_t stored_stride(const Shape& shape, int d);

}  // namespace ferry::gpu
