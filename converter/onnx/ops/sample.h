// Interpolates maps at computed coordinates.
#pragma once

#include "converter/onnx/op.h"

namespace ferry::onnx {

// Samples maps [N,H,W,C] at coordinates y and x [N,I], in positions: [N,I,C]. Bilinear; with `nearest`, coordinates are
// integers. Values outside of the map are 0.
Tensor sample(Op& op, Tensor maps, Tensor y, Tensor x, bool nearest = false);

}  // namespace ferry::onnx
