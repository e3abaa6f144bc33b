// ONNX files as a source of the converter.
#pragma once

#include "converter/source.h"

namespace ferry::onnx {

Source onnx_source();

}  // namespace ferry::onnx
