// Elements found by their places: of constants in the converter, of activations by slices of the graph.
#pragma once

#include "converter/onnx/op.h"

namespace ferry::onnx {

// Slices that single places of an activation may become.
inline constexpr size_t kMaxPieces = 256;

// What stands at `places` along `axis`, in any order and any number of times.
Array pick(const Array& from, int axis, const std::vector<int64_t>& places);
Tensor pick(Op& op, Tensor x, int axis, const std::vector<int64_t>& places);
// The same of either; nothing, where there are no places, is known whatever it is picked from.
Value pick(Op& op, const Value& x, int axis, const std::vector<int64_t>& places);

// Sets output 0 to the value of shape `dims` whose element i is element index[i], counted row by row, of input `input`.
void set_picked(Op& op, size_t input, const Dims& dims, const std::vector<int64_t>& index);

}  // namespace ferry::onnx
