// TensorFlow Lite files as a source of the converter.
#pragma once

#include "converter/source.h"

namespace ferry::tflite {

Source tflite_source();

}  // namespace ferry::tflite
