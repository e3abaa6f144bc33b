// What a tensor's type says must make sense: part of verify_meaning().
#pragma once

#include "sdk/model/tensor_id.h"
#include "sdk/status.h"

namespace ferry {

// A type that this version knows, where a blob may have it. `id` is for the message; the tensor's rank and
// dimensions have been checked.
Status verify_dtype(const fbs::Tensor& tensor, TensorId id);

// The scales of quantised constants. Shapes and segments of all of the graph's tensors have been checked.
Status verify_types(const fbs::Graph& graph);

}  // namespace ferry
