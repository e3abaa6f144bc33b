// ONNX's Attention (opset 23) in language models, as the operators that it is defined by.
#pragma once

#include "converter/onnx/model.h"

namespace ferry::onnx {

// The file with several nodes in place of each Attention of four dimensions without a causal mask and a cap of its own;
// with_cached_attention() proves what they compute.
void expand_attention(Model* model);

}  // namespace ferry::onnx
