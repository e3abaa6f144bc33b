// Elements by position: picked for constants, sliced or gathered for activations.
#pragma once

#include "converter/onnx/op.h"

namespace ferry::onnx {

// The elements at `positions` along `axis`, in any order and with repetitions. For activations, few runs become slices,
// many a gather.
Array pick(const Array& from, int axis, const std::vector<int64_t>& positions);
Tensor pick(Op& op, Tensor x, int axis, const std::vector<int64_t>& positions);
// The same for either kind; an empty result is always a constant.
Value pick(Op& op, const Value& x, int axis, const std::vector<int64_t>& positions);

}  // namespace ferry::onnx
