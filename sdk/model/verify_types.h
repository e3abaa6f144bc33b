// Part of verify_meaning(): the types of tensors.
#pragma once

#include "sdk/model/tensor_id.h"
#include "sdk/status.h"

namespace ferry {

// Checks that the type is known and allowed there. `id` is for the message; rank and dimensions have been checked.
Status verify_dtype(const fbs::Tensor& tensor, TensorId id);

// Checks the scales of quantised constants. Shapes and segments of all tensors have been checked.
Status verify_types(const fbs::Graph& graph);

}  // namespace ferry
