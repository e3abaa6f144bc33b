// Sparse constants of .tflite files.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "converter/tflite/file.h"
#include "sdk/operators/shape.h"

namespace ferry::tflite {

// All elements of a sparse constant, row-major, `size` bytes each; those that `values` lacks are 0. The format is
// SparsityParameters of the schema, after TACO (Kjolstad et al., OOPSLA 2017): one level per dimension in the order of
// traversal, dense or compressed, and one per dimension of a block. Throws Error if the indices do not fit the shape.
std::vector<std::byte> expand_sparse(const schema::SparsityParameters& sparsity, const Shape& shape, int size,
                                     std::span<const std::byte> values);

}  // namespace ferry::tflite
