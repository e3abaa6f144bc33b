// Elements found by their places: of constants in the converter, of activations by slices of the graph.
#pragma once

#include "converter/onnx/op.h"

namespace ferry::onnx {

// What stands at `places` along `axis`, in any order and any number of times. Of activations few pieces are slices,
// many are gathered.
Array pick(const Array& from, int axis, const std::vector<int64_t>& places);
Tensor pick(Op& op, Tensor x, int axis, const std::vector<int64_t>& places);
// The same of either; nothing, where there are no places, is known whatever it is picked from.
Value pick(Op& op, const Value& x, int axis, const std::vector<int64_t>& places);

}  // namespace ferry::onnx
