// Values of 8-bit integers with one scale. QuantizeLinear makes them as Int8 tensors of the graph, where unsigned
// integers q are q - 128. Operators that know the scale read their real values; to all others they are Int32, like
// other integers of a file.
#pragma once

#include "converter/onnx/array.h"

namespace ferry::onnx {

bool is_int8(Tensor x);

// `real`, Float32, rounded to integers of `type`, UInt8 or Int8, with this zero point in the file. Throws Error if no
// Int8 tensor can have this scale and zero point.
Tensor quantised(Tensor real, Type type, double scale, int64_t zero_point);

// Whether that is what x, Int8, was made with.
bool is_quantised_by(Tensor x, Type type, double scale, int64_t zero_point);

// Float32: what the integers stand for.
Tensor real_of(Tensor x);

// Int32: the integers of `type` in the file.
Tensor as_int32(Tensor x, Type type);

// Of the same type, scale and zero point as x: `moved` has elements of real_of(x).
Tensor quantised_like(Tensor x, Tensor moved);

}  // namespace ferry::onnx
