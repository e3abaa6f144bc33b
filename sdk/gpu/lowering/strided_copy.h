// A strided copy, which moves elements: every output coordinate has its place in the input.
#pragma once

#include <vector>

#include "sdk/gpu/lowering/op.h"

namespace ferry::gpu {

// One dimension of the output, outermost first; the last one is the last dimension of the output's shape.
struct CopiedDim {
  int32_t size;        // of the output
  int64_t stride;      // elements of the input from one coordinate to the next, padding lanes counted
  int32_t before = 0;  // output coordinates before the input's first
  int32_t limit = 0;   // coordinates that the input has from there; 0: as many as the output has
};

// `base`: element of the input that the first coordinates stand for. At most six dimensions. `input`, `output`: as in
// Call.
Status add_strided_copy(std::vector<CopiedDim> dims, int64_t base, float fill, Lowering* out, const Operand& input = {},
                        const Operand& output = {});
// The same elements in rows of another length.
void add_reshape(const Rows& from, const Rows& to, const Operand& input, const Operand& output, Lowering* out);

// Elements from one coordinate of dimension `d` to the next, padding lanes counted.
int64_t stored_stride(const Shape& shape, int d);

}  // namespace ferry::gpu
