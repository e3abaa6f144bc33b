// Small sizes for canaries: a few pixels and channels, but more than a kernel's reach, tiles with remainders, several
// workgroups and the same last quad.
#pragma once

#include <vector>

#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"
#include "sdk/operators/shape.h"

namespace ferry::gpu {

// Ascending; an operator may be lowered differently at each.
inline constexpr int kCanarySizes = 4;

// Of a mixture of experts.
inline constexpr int32_t kCanaryExperts = 3;
// Elements of a row that canaries of gather and scatter name by their places.
inline constexpr int32_t kCanaryRow = 22;

// Replaces the shapes of all tensors that a chain of operators reads or writes, in `shapes` of every tensor of the
// model, by small ones. False: its parameters do not allow it.
bool shrink(const Model& model, const std::vector<int>& operators, int size, Shapes* shapes);

}  // namespace ferry::gpu
