// Values of integers with a scale, as real numbers: (integer - zero point) * scale.
#pragma once

#include "converter/graph/graph.h"
#include "converter/preprocessing/image_settings.h"
#include "converter/tflite/file.h"

namespace ferry::tflite {

// What `value`, Float32, becomes in an activation of integers with a scale: rounded to 8-bit integers and back, and for
// 16 bits clamped to their range. Unsigned integers q are q - 128 here, so that all are Int8. Throws Error for other
// integers and for scales that no activation can have.
Tensor rounded(Tensor value, const schema::Tensor& tensor);

// How a photograph becomes input 0 if that is an image of 8-bit integers: its levels, 0 to 255, are the integers
// (0 is -128 where they are signed). Empty for other inputs.
ImageSettings levels_as_integers(const File& file);

}  // namespace ferry::tflite
