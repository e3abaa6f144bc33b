// Quantised checkpoints of language models, as the quantization_config of config.json describes them.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "converter/checkpoint/checkpoint.h"

namespace ferry {

// Scales of a tensor's blocks. An element at index i is multiplied by the factor at index i / block, in every
// dimension: the last block of a dimension may be incomplete.
struct BlockScales {
  std::vector<int64_t> block;  // one extent per dimension of the tensor
  CheckpointTensor factors;    // one factor per block, of the tensor's rank
  bool rounded = false;        // products are rounded to the type of the factors

  // Multiplies all elements of a tensor of this shape.
  void apply(const std::vector<int64_t>& shape, std::vector<float>* values) const;
  void apply(const std::vector<int64_t>& shape, std::vector<double>* values) const;
};

// Elements [first, first + count) of a tensor's first dimension, with their scales. `first` is a multiple of
// first_block(tensor).
CheckpointTensor rows_of(const CheckpointTensor& tensor, int64_t first, int64_t count);
// How many elements of the first dimension share scales; 1 without scales, or if all share them.
int64_t first_block(const CheckpointTensor& tensor);

// Presents a quantised checkpoint under the keys of a plain one: values are computed when a tensor is read. GPTQ, AWQ,
// compressed-tensors and bitsandbytes are read by converter/checkpoint/quantized/. For the other methods, and for 8-bit
// floats of compressed-tensors, the scales are attached to the tensors that they belong to, by the names
//
//     X             weight, F8_E4M3, F8_E5M2 or I8
//     X_scale_inv   a factor per block of weight_block_size (DeepSeek-V3, Qwen3), or one factor
//     X_scale       the same; [1] or []: of the tensor; [rows,1]: of a row; else of a block
//
// A value is the element times the factor in float32, rounded once, as transformers dequantises; compressed-tensors
// rounds to the type of the scales. Scales of activations and of caches (input_scale, activation_scale, k_scale...) are
// dropped, with a note: activations stay float32. Modules that a configuration excludes have plain weights, which are
// not touched.
//
// The configuration is quantization_config of config.json, else hf_quant_config.json, quantize_config.json (AutoGPTQ)
// or quant_config.json (AutoAWQ). A checkpoint without one, or with MXFP4, is returned unchanged. Throws Error for
// another quant_method or variation, by its name, and for tensors that are missing or do not fit.
//
// `kept`: products of integers and scales that a blob can hold (Encoding::has_integers) are exact, not rounded to the
// type of the scales.
std::shared_ptr<const Checkpoint> dequantized(std::shared_ptr<const Checkpoint> checkpoint,
                                              const nlohmann::json& config, bool kept = false);

}  // namespace ferry
