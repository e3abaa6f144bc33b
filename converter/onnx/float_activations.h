// Language models whose linear layers quantise their activations in each run (DynamicQuantizeLinear, MatMulInteger), as
// ONNX Runtime's dynamic quantization writes them. The scale follows from all tokens of the run: the answer would
// depend on how a prompt is split into runs, and on whether a run computes the logits of all tokens. With activations
// of float it does not, and is nearer to that of the network before quantization.
#pragma once

#include "converter/onnx/model.h"

namespace ferry::onnx {

// The file with a MatMul of the dequantised weight in place of each such layer.
Model with_float_activations(const Model& model);

}  // namespace ferry::onnx
