// What the values of a tensor lie between, as far as the operators that compute it say: sizes of boxes that are clipped
// to an image.
#pragma once

#include <limits>

#include "converter/onnx/op.h"

namespace ferry::onnx {

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

Range range_of(Tensor x);

}  // namespace ferry::onnx
