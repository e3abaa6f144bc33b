// Identifies convolutions that are a linear operator per pixel.
#pragma once

#include "ferry_generated.h"
#include "sdk/operators/shape.h"

namespace ferry {

// weight: [O,KH,KW,I].
inline bool is_pointwise(const fbs::Conv2d& p, const Shape& weight) {
  return weight[1] == 1 && weight[2] == 1 && p.groups() == 1 && p.stride_h() == 1 && p.stride_w() == 1 &&
         p.pad_top() == 0 && p.pad_left() == 0 && p.pad_bottom() == 0 && p.pad_right() == 0;
}

}  // namespace ferry
