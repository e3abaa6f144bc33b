// Interpolates maps at computed coordinates.
#pragma once

#include "converter/onnx/op.h"

namespace ferry::onnx {

// Neighbours of coordinates along one side of a map: their indices, whole numbers inside of the map, and their weights.
struct Tap {
  Tensor place, share;
};

// The sum of maps [N,H,W,C] at every pair of a tap of `rows` and one of `columns`, by the product of their weights.
// Taps have the shape [N,I]; the result is [N,I,C].
Tensor sum_of_taps(Op& op, Tensor maps, const std::vector<Tap>& rows, const std::vector<Tap>& columns);

// Samples maps [N,H,W,C] at coordinates y and x [N,I], in positions: [N,I,C]. Bilinear; with `nearest`, coordinates are
// integers. Values outside of the map are 0.
Tensor sample(Op& op, Tensor maps, Tensor y, Tensor x, bool nearest = false);

// 1 where a place lies in 0..size-1, else 0: the weight of values outside of a map. `inside`: the place, clamped.
Tensor is_inside(Tensor place, Tensor inside);

}  // namespace ferry::onnx
