// What stands between the places of maps, at positions that may be known at run time only.
#pragma once

#include "converter/onnx/op.h"

namespace ferry::onnx {

// maps [N,H,W,C] at positions y and x [N,I], counted in places, anywhere: [N,I,C]. Between places linear; or the place
// itself where positions are integers (`nearest`). Outside the map is 0.
Tensor sample(Op& op, Tensor maps, Tensor y, Tensor x, bool nearest = false);

}  // namespace ferry::onnx
