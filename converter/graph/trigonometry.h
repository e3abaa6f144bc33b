// Inverses of trigonometric functions and hyperbolic functions, composed of operators so that small arguments keep
// their precision in float32.
#pragma once

#include "converter/graph/graph.h"

namespace ferry {

Tensor arc_cosine(Tensor x);
Tensor arc_sine(Tensor x);
Tensor arc_tangent(Tensor x);
Tensor area_cosine(Tensor x);
Tensor area_sine(Tensor x);
Tensor area_tangent(Tensor x);
Tensor hyperbolic_cosine(Tensor x);
Tensor hyperbolic_sine(Tensor x);

}  // namespace ferry
