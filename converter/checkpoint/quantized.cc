#include "converter/checkpoint/quantized.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/keys.h"
#include "converter/checkpoint/quantized/affine.h"
#include "converter/checkpoint/quantized/method.h"
#include "converter/error.h"

namespace ferry {
namespace {

using nlohmann::json;
using quantized::kWhere;
using quantized::ModuleTensors;
using quantized::text_member;
using quantized::unsupported;

constexpr std::array kScaleSuffixes = {"_scale_inv", "_scale"};
// Scales of what is not a weight: activations, and keys and values in a cache.
constexpr std::array<std::string_view, 9> kActivationScales = {"input_scale", "activation_scale", "output_scale",
                                                               "k_scale",     "v_scale",          "q_scale",
                                                               "kv_scale",    "prob_scale",       "input_scale_ub"};

// Extents of a block's last two dimensions; empty if the file has none.
std::vector<int64_t> block_of(const json& value) {
  if (value.is_null()) return {};
  std::vector<int64_t> block;
  if (value.is_array())
    for (const json& side : value)
      if (side.is_number_integer() && side > 0) block.push_back(side.get<int64_t>());
  if (block.size() != 2) fail("%s: a block size is %s, expected two integers above 0", kWhere, value.dump().c_str());
  return block;
}

// What a scheme of compressed-tensors says of 8-bit weights that are no rows of integers. Returns their block.
std::vector<int64_t> compressed_block(const json& scheme) {
  const json weights = scheme.is_object() ? scheme.value("weights", json()) : json();
  if (!weights.is_object()) return {};  // activations only
  const std::string type = text_member(weights, "type", "int");
  const int bits = weights.value("num_bits", 8);
  if (type == "float" && bits != 8) unsupported("compressed-tensors with weights of " + std::to_string(bits) + " bits");
  if (type == "float" && !weights.value("symmetric", true))
    unsupported("compressed-tensors with zero points of floats");
  if (const json group = weights.value("group_size", json()); group.is_number_integer() && group > 0)
    return {1, group.get<int64_t>()};
  return block_of(weights.value("block_structure", json()));
}

std::vector<int64_t> compressed_blocks(const json& config) {
  std::vector<int64_t> block;
  for (const json& scheme : config.value("config_groups", json::object())) {
    const std::vector<int64_t> own = compressed_block(scheme);
    if (!block.empty() && !own.empty() && own != block) return {};
    if (!own.empty()) block = own;
  }
  return block;
}

// The block of the quantised weights; empty: one scale per tensor or row.
std::vector<int64_t> blocks_of(const json& config) {
  const std::string method = text_member(config, "quant_method");
  if (method == "fp8") return block_of(config.value("weight_block_size", json()));
  if (method == "fbgemm_fp8") return {};
  if (method == "compressed-tensors" || method == "compressed_tensors") return compressed_blocks(config);
  if (method == "modelopt") {
    const std::string algorithm = text_member(config, "quant_algo");
    if (algorithm != "FP8" && algorithm != "FP8_PER_CHANNEL_PER_TOKEN")
      unsupported("the quant_algo '" + algorithm + "' of modelopt");
    return {};
  }
  unsupported("the quant_method '" + method + "'");
}

bool is_quantized(ElementType type) {
  return type == ElementType::F8_E4M3 || type == ElementType::F8_E5M2 || type == ElementType::I8;
}

// The factors with the tensor's rank, and the extents of a block. `rounded`: BlockScales::rounded.
std::shared_ptr<const BlockScales> scales_of(const std::string& key, const CheckpointTensor& tensor,
                                             const std::string& scale_key, const CheckpointTensor& scale,
                                             const std::vector<int64_t>& config_block, bool rounded) {
  const size_t rank = tensor.shape.size();
  const auto misfit = [&] {
    fail("'%s' has shape %s, which is no scale per tensor, row or block%s of '%s' %s", scale_key.c_str(),
         shape_text(scale.shape).c_str(), config_block.empty() ? "" : shape_text(config_block).c_str(), key.c_str(),
         shape_text(tensor.shape).c_str());
  };
  if (!is_float(scale.type)) fail("'%s' is %s: scales are floating-point", scale_key.c_str(), element_name(scale.type));
  for (const float factor : scale.to_floats())
    if (!std::isfinite(factor)) fail("'%s' has a scale that is not finite", scale_key.c_str());
  auto out = std::make_shared<BlockScales>(BlockScales{{}, scale, rounded});
  std::vector<int64_t>& shape = out->factors.shape;
  if (scale.elements() == 1) shape.assign(rank, 1);
  while (shape.size() < rank) shape.push_back(1);  // [rows] is [rows,1]
  if (shape.size() != rank) misfit();
  // Whole dimensions and single elements; else blocks of the configuration in the last two dimensions.
  for (const bool blocked : {false, true}) {
    if (blocked && (config_block.size() != 2 || rank < 2)) break;
    out->block.clear();
    for (size_t d = 0; d < rank; ++d) {
      const int64_t size = tensor.shape[d], count = shape[d];
      int64_t block = count == size ? 1 : size;
      if (blocked && d + 2 >= rank) block = config_block[d + 2 - rank];
      if (block > 0 && count == (size + block - 1) / block) out->block.push_back(block);
    }
    if (out->block.size() == rank) return out;
  }
  misfit();
  return out;
}

template <typename T>
void multiply(const BlockScales& scales, const std::vector<int64_t>& shape, std::vector<T>* values) {
  if (values->empty()) return;
  const std::vector<T> factors = [&] {
    if constexpr (std::is_same_v<T, float>)
      return scales.factors.to_floats();
    else
      return scales.factors.to_doubles();
  }();
  if (shape.empty()) {
    values->front() *= factors.front();
    return;
  }
  const size_t last = shape.size() - 1;
  const auto row = static_cast<size_t>(shape[last]), block = static_cast<size_t>(scales.block[last]);
  std::vector<int64_t> index(last, 0);
  for (size_t begin = 0; begin < values->size(); begin += row) {
    size_t factor = 0;
    for (size_t d = 0; d < last; ++d)
      factor = factor * static_cast<size_t>(scales.factors.shape[d]) + static_cast<size_t>(index[d] / scales.block[d]);
    factor *= static_cast<size_t>(scales.factors.shape[last]);
    for (size_t i = 0; i < row; ++i) (*values)[begin + i] *= factors[factor + i / block];
    for (size_t d = last; d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

// The quantization_config, of the model or of its language part, or the file of a tool that has its own: ModelOpt,
// AutoGPTQ, AutoAWQ. Null without one. It has a quant_method.
json configuration_of(const Checkpoint& checkpoint, const json& config) {
  if (!config.is_object()) return nullptr;
  const json text = config.value("text_config", json());
  for (const json* object : {&config, &text})
    if (object->is_object() && object->contains("quantization_config")) {
      json found = object->at("quantization_config");
      if (!found.is_null() && !found.is_object()) fail("%s: expected an object", kWhere);
      if (found.is_null()) continue;
      // transformers wrote none for bitsandbytes at first.
      if (!found.contains("quant_method") && (found.contains("load_in_4bit") || found.contains("load_in_8bit")))
        found["quant_method"] = "bitsandbytes";
      return found;
    }
  const json other = read_config(checkpoint, "hf_quant_config.json");
  if (other.is_object() && other.contains("quantization") && other["quantization"].is_object()) {
    json found = other["quantization"];
    found["quant_method"] = "modelopt";
    return found;
  }
  for (const auto& [file, method] : {std::pair("quantize_config.json", "gptq"), {"quant_config.json", "awq"}}) {
    json found = read_config(checkpoint, file);
    if (!found.is_object()) continue;
    if (!found.contains("quant_method")) found["quant_method"] = method;
    return found;
  }
  return nullptr;
}

// Without a configuration, elements of 8 bits are values, but not if there are scales.
void refuse_scales(const Checkpoint& checkpoint) {
  for (const auto& [key, tensor] : checkpoint.tensors()) {
    for (const char* suffix : kScaleSuffixes)
      if (is_quantized(tensor.type) && checkpoint.tensors().contains(key + suffix))
        fail("'%s' is %s with the scales '%s%s', but no config.json with a quantization_config says how to apply them",
             key.c_str(), element_name(tensor.type), key.c_str(), suffix);
    for (const char* suffix : {".qweight", ".weight_packed", ".SCB"})
      if (key.ends_with(suffix))
        fail("'%s' is part of a quantised weight, but no config.json with a quantization_config says of which kind",
             key.c_str());
    if (key.find(".quant_state.bitsandbytes__") != key.npos)
      fail("'%s' is part of a quantised weight, but no config.json with a quantization_config says of which kind",
           key.c_str());
  }
}

// Attaches scales to tensors of 8 bits, and drops those of activations.
void attach_scales(const std::vector<int64_t>& block, bool rounded, ModuleTensors* reading) {
  const std::map<std::string, CheckpointTensor> stored = reading->tensors;
  size_t activations = 0;
  for (const auto& [key, tensor] : stored) {
    const std::string_view leaf = std::string_view(key).substr(key.rfind('.') + 1);
    if (std::find(kActivationScales.begin(), kActivationScales.end(), leaf) != kActivationScales.end()) {
      reading->tensors.erase(key);
      ++activations;
      continue;
    }
    for (const char* suffix : kScaleSuffixes) {
      const auto scale = stored.find(key + suffix);
      if (scale == stored.end()) continue;
      if (!is_quantized(tensor.type))
        fail("'%s' is %s, but has the scales '%s': expected F8_E4M3, F8_E5M2 or I8", key.c_str(),
             element_name(tensor.type), scale->first.c_str());
      CheckpointTensor& weight = reading->tensors.at(key);
      if (weight.scales) fail("'%s' has both _scale_inv and _scale", key.c_str());
      weight.scales = scales_of(key, tensor, scale->first, scale->second, block, rounded);
      reading->tensors.erase(scale->first);
      ++reading->weights;
    }
    if (is_quantized(tensor.type) && !reading->tensors.at(key).scales)
      fail("'%s' is %s, but the checkpoint has neither '%s_scale_inv' nor '%s_scale'", key.c_str(),
           element_name(tensor.type), key.c_str(), key.c_str());
  }
  if (activations > 0)
    reading->notes.push_back(std::to_string(activations) +
                             " scales of activations and caches are not used: activations are not quantised");
}

void read_method(const std::string& method, ModuleTensors* reading) {
  if (method == "gptq") return quantized::read_gptq(reading);
  if (method == "awq") return quantized::read_awq(reading);
  if (method == "bitsandbytes") return quantized::read_bitsandbytes(reading);
  const bool compressed = method == "compressed-tensors" || method == "compressed_tensors";
  if (compressed) quantized::read_compressed_tensors(reading);
  attach_scales(blocks_of(reading->config), compressed, reading);
}

}  // namespace

void BlockScales::apply(const std::vector<int64_t>& shape, std::vector<float>* values) const {
  multiply(*this, shape, values);
  if (rounded)
    for (float& value : *values) value = quantized::rounded_to(factors.type, value);
}
void BlockScales::apply(const std::vector<int64_t>& shape, std::vector<double>* values) const {
  multiply(*this, shape, values);
  if (rounded)
    for (double& value : *values)
      value = static_cast<double>(quantized::rounded_to(factors.type, static_cast<float>(value)));
}

int64_t first_block(const CheckpointTensor& tensor) {
  return tensor.scales && tensor.scales->factors.shape[0] > 1 ? tensor.scales->block[0] : 1;
}

CheckpointTensor rows_of(const CheckpointTensor& tensor, int64_t first, int64_t count) {
  CheckpointTensor out = tensor;
  const size_t row = tensor.bytes.size() / static_cast<size_t>(tensor.shape[0]);
  out.shape[0] = count;
  out.bytes = tensor.bytes.subspan(static_cast<size_t>(first) * row, static_cast<size_t>(count) * row);
  if (!tensor.scales) return out;
  BlockScales scales = *tensor.scales;
  if (scales.factors.shape[0] > 1) {
    const int64_t block = scales.block[0];
    scales.factors = rows_of(scales.factors, first / block, (count + block - 1) / block);
  } else {
    scales.block[0] = count;
  }
  out.scales = std::make_shared<const BlockScales>(std::move(scales));
  return out;
}

std::shared_ptr<const Checkpoint> dequantized(std::shared_ptr<const Checkpoint> checkpoint, const json& config,
                                              bool kept) try {
  const json quantization = configuration_of(*checkpoint, config);
  if (quantization.is_null()) refuse_scales(*checkpoint);
  const std::string method = text_member(quantization, "quant_method");
  if (quantization.is_null() || method == "mxfp4") return checkpoint;
  ModuleTensors reading = {.config = quantization, .kept = kept, .tensors = checkpoint->tensors()};
  read_method(method, &reading);
  reading.notes.insert(reading.notes.begin(), std::to_string(reading.weights) + " quantised weights (" + method + ")");
  return with_tensors(std::move(checkpoint), std::move(reading.tensors), std::move(reading.notes));
} catch (const json::exception& error) {
  fail("%s: %s", kWhere, error.what());
}

}  // namespace ferry
