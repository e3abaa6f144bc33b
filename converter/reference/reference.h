// The oracle: every operator computed plainly, in double. It folds constants, and op tests compare every backend with it.
#pragma once

#include <span>
#include <vector>

#include "ferry_generated.h"
#include "sdk/graph/shape.h"

namespace ferry::reference {

struct Array {
  Shape shape;
  std::vector<double> values;  // row-major, channels last; of Int32 whole numbers
  fbs::DType dtype = fbs::DType::Float32;
  bool quantized = false;  // a constant whose values are integers times scales
  // Of a quantised weight: the rows that it is multiplied with are rounded to 8 bits first, as the CPU does
  // (converter/reference/rounded_rows.h). Otherwise they are taken as they are, as the GPU does.
  bool rounds_rows = false;
};

// The output of `op` for these inputs. Throws Error where they do not fit.
Array compute(const fbs::Operator& op, std::span<const Array* const> inputs);

}  // namespace ferry::reference
