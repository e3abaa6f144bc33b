// Inverses of trigonometric functions and hyperbolic functions.
#include "converter/graph/trigonometry.h"

#include <cmath>

#include "converter/onnx/ops/evaluate.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

void composed(Op& op, double (*of_constants)(double), Tensor (*compose)(Tensor)) {
  if (op.known())
    op.set(map(op.array(0, "X"), of_constants));
  else
    op.set(compose(op.tensor(0)));
}

}  // namespace

void acos(Op& op) { composed(op, std::acos, arc_cosine); }
void acosh(Op& op) { composed(op, std::acosh, area_cosine); }
void asin(Op& op) { composed(op, std::asin, arc_sine); }
void asinh(Op& op) { composed(op, std::asinh, area_sine); }
void atan(Op& op) { composed(op, std::atan, arc_tangent); }
void atanh(Op& op) { composed(op, std::atanh, area_tangent); }
void cosh(Op& op) { composed(op, std::cosh, hyperbolic_cosine); }
void sinh(Op& op) { composed(op, std::sinh, hyperbolic_sine); }

}  // namespace ferry::onnx
