// What the readers of quantised checkpoints share. Each reads one quant_method of config.json's quantization_config and
// replaces a module's integers, scales and zero points by one tensor `weight`, which decodes them when it is read.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "converter/checkpoint/checkpoint.h"

namespace ferry::quantized {

inline constexpr const char* kWhere = "config.json: quantization_config";

// A checkpoint that is being read. A module without quantised tensors stays as it is, whether the configuration
// excludes it or not.
struct ModuleTensors {
  const nlohmann::json& config;                     // quantization_config
  bool kept;                                        // Affine::kept
  std::map<std::string, CheckpointTensor> tensors;  // by key
  std::vector<std::string> notes = {};
  size_t weights = 0;  // number of tensors that were replaced

  // Null if there is none.
  const CheckpointTensor* find(const std::string& key) const;
  // Removes and returns a tensor. Throws Error if there is none: `of` is a key that needs it.
  CheckpointTensor take(const std::string& key, const std::string& of);
  // Adds a weight of float32 values. Throws Error if there is one already.
  void add(const std::string& key, std::vector<int64_t> shape, std::span<const std::byte> bytes,
           std::shared_ptr<const Encoding> encoding);
  // Keys that end in `suffix`, without it.
  std::vector<std::string> modules(std::string_view suffix) const;
};

// Throw Error if the file has a variation that is not understood.
void read_gptq(ModuleTensors* reading);
void read_awq(ModuleTensors* reading);
// Integers only, packed or not. 8-bit floats are left as they are.
void read_compressed_tensors(ModuleTensors* reading);
void read_bitsandbytes(ModuleTensors* reading);

// Throws Error: `what` is not supported, with a list of what is.
[[noreturn]] void unsupported(const std::string& what);

// Members of an object; absent ones and null are `absent`. Throw Error for another type.
std::string text_member(const nlohmann::json& object, const char* name, const char* absent = "");
int64_t integer_member(const nlohmann::json& object, const char* name, int64_t absent);
bool flag_member(const nlohmann::json& object, const char* name, bool absent);

// Throw Error that names `key`.
void expect_shape(const std::string& key, const CheckpointTensor& tensor, const std::vector<int64_t>& shape,
                  const char* of);
// Rank 2 and elements.
void expect_matrix(const std::string& key, const CheckpointTensor& tensor);
void expect_words(const std::string& key, const CheckpointTensor& tensor);   // 32-bit integers
void expect_scales(const std::string& key, const CheckpointTensor& tensor);  // finite and floating-point

}  // namespace ferry::quantized
