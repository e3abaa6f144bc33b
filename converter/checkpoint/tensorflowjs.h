// TensorFlow.js layers models: model.json, whose weightsManifest lists groups of tensors stored consecutively in the
// group's shard files. https://github.com/tensorflow/tfjs/tree/master/tfjs-converter describes the format.
#pragma once

#include <memory>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/mapped_file.h"

namespace ferry {

// Tensors keep their names ("F_0/kernel") and TensorFlow's layouts (convolution KH,KW,I,O). Quantized tensors are
// dequantized to float32 or int32; float16 remains F16.
std::shared_ptr<const Checkpoint> open_tensorflowjs(std::shared_ptr<const MappedFile> model_json);

}  // namespace ferry
