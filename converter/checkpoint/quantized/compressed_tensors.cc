// compressed-tensors, as llm-compressor saves it. Of a module X [outputs, inputs] with integers:
//
//     X.weight_packed      I32 [outputs, words of inputs]   pack-quantized: integer + 2^(bits - 1), 32 / bits a word
//     X.weight_shape       I64 [2]                          pack-quantized: outputs, inputs
//     X.weight             I8 [outputs, inputs]             int-quantized
//     X.weight_scale       [1], [outputs,1] or [outputs,groups]
//     X.weight_zero_point  unless symmetric: I8 as the scales; pack-quantized: I32 [words of outputs, groups], which
//                          packs along the outputs
//     X.weight_g_idx       I32 [inputs]                     act-order; ignored if it holds -1
#include <algorithm>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/quantized/affine.h"
#include "converter/checkpoint/quantized/method.h"
#include "converter/checkpoint/quantized/name_pattern.h"
#include "converter/error.h"

namespace ferry::quantized {
namespace {

using nlohmann::json;

struct Scheme {
  std::string format, type, strategy;
  int bits;
  int64_t group;  // -1: all inputs
  bool symmetric;
};

Scheme scheme_of(const json& given, const std::string& format) {
  Scheme out = {.format = text_member(given, "format", format.c_str()),
                .type = "",
                .strategy = "",
                .bits = 0,
                .group = -1,
                .symmetric = true};
  const json weights = given.is_object() ? given.value("weights", json()) : json();
  if (!weights.is_object()) return out;  // activations only
  out.type = text_member(weights, "type", "int");
  out.strategy = text_member(weights, "strategy");
  out.bits = static_cast<int>(std::clamp<int64_t>(integer_member(weights, "num_bits", 8), -1, 64));
  const int64_t group = integer_member(weights, "group_size", -1);
  out.group = group < 1 ? -1 : group;
  out.symmetric = flag_member(weights, "symmetric", true);
  return out;
}

// The schemes of config_groups, by what they target.
class Schemes {
 public:
  explicit Schemes(const json& config) {
    const std::string format = text_member(config, "format");
    if (format == "mixed-precision" || is_read(format)) {
      for (const json& group : config.value("config_groups", json::object())) add(group, format);
      return;
    }
    unsupported("the format '" + format + "' of compressed-tensors");
  }

  // A target names a module, or begins with "re:" and matches the beginning of its name, or names a class. Throws Error
  // if none applies to the module.
  const Scheme& of(const std::string& module) {
    for (const auto& [target, scheme] : targets_)
      if (target == module) return schemes_[scheme];
    for (const auto& [pattern, scheme] : patterns_)
      if (pattern.begins(module, &work_)) return schemes_[scheme];
    for (const auto& [target, scheme] : targets_)
      if (target == "Linear" || (schemes_.size() == 1 && patterns_.empty())) return schemes_[scheme];
    fail("%s: no config_groups target the module %s, which is quantised", kWhere, in_quotes(module).c_str());
  }

 private:
  static bool is_read(const std::string& format) {
    return format == "pack-quantized" || format == "int-quantized" || format == "float-quantized" ||
           format == "naive-quantized";
  }

  void add(const json& group, const std::string& format) {
    schemes_.push_back(scheme_of(group, format));
    if (const std::string& own = schemes_.back().format; !is_read(own))
      unsupported("the format '" + own + "' of compressed-tensors");
    const size_t index = schemes_.size() - 1;
    const json targets = group.is_object() ? group.value("targets", json()) : json();
    if (!targets.is_array()) return targets_.emplace_back("Linear", index), void();
    for (const json& target : targets) {
      if (!target.is_string()) fail("%s: a target is no text", kWhere);
      const auto& text = target.get_ref<const std::string&>();
      if (!text.starts_with("re:")) {
        targets_.emplace_back(text, index);
        continue;
      }
      patterns_.emplace_back(NamePattern(text.substr(3), "a target"), index);
    }
  }

  std::vector<Scheme> schemes_;
  std::vector<std::pair<std::string, size_t>> targets_;
  std::vector<std::pair<NamePattern, size_t>> patterns_;
  uint64_t work_ = 0;
};

void refuse_transforms(const json& config) {
  const json transforms = config.value("transform_config", json());
  if (transforms.is_object() && !transforms.value("config_groups", json::object()).empty())
    unsupported("the transform_config of compressed-tensors");
  const json sparsity = config.value("sparsity_config", json());
  const std::string format = text_member(sparsity, "format", "dense");
  if (sparsity.is_object() && format != "dense") unsupported("the sparsity format '" + format + "'");
}

// How many groups share a row's scales, by the shape of the scales [1], [outputs], [outputs,1] or [outputs,groups].
struct Layout {
  int64_t groups = 1;
  Steps steps;
};

Layout layout_of(const std::string& module, const CheckpointTensor& scales, int64_t outputs, const Groups& groups) {
  const std::string key = module + ".weight_scale";
  expect_scales(key, scales);
  if (scales.elements() == 1 && groups.count == 1) return {};
  const std::string of = groups.text();
  if (scales.shape.size() == 1 && groups.count == 1)
    expect_shape(key, scales, {outputs}, of.c_str());
  else
    expect_shape(key, scales, {outputs, groups.count}, of.c_str());
  return {.groups = groups.count, .steps = {.row = groups.count, .group = 1}};
}

// Adds zero points. Packed ones are in the type of the packed weights; others have the scales' layout.
void read_zeros(ModuleTensors* reading, const std::string& module, const Packing& packing, int64_t outputs,
                const Layout& layout, const Scheme& scheme, Affine* to) {
  const std::string key = module + ".weight_zero_point";
  if (!reading->find(key)) {
    if (!scheme.symmetric) reading->take(key, module + ".weight");  // throws
    return;
  }
  const CheckpointTensor zeros = reading->take(key, key);
  if (zeros.type == ElementType::I8) {
    if (zeros.elements() != to->scales.elements())
      fail("%s has shape %s, expected that of the scales, %s", in_quotes(key).c_str(), shape_text(zeros.shape).c_str(),
           shape_text(to->scales.shape).c_str());
    to->zeros = Integers{.bytes = zeros.bytes, .packing = {}, .count = zeros.elements()};
    to->zero_steps = layout.steps;
    return;
  }
  expect_words(key, zeros);
  expect_shape(key, zeros, {packing.words(outputs), layout.groups}, "zero points packed along the outputs");
  to->zeros = Integers{.bytes = zeros.bytes,
                       .packing = packing,
                       .count = outputs,
                       .inner = layout.groups,
                       .added = -(1 << (packing.bits - 1))};
  to->zero_steps = {.row = layout.groups, .group = 1};
}

void read_module(ModuleTensors* reading, const std::string& module, const Scheme& scheme, Integers integers,
                 int64_t outputs, int64_t inputs) {
  const std::string key = module + ".weight";
  const Groups groups = groups_of(scheme.group, inputs);
  Affine parts{.integers = integers, .scales = reading->take(module + ".weight_scale", key), .scale_steps = {}};
  const Layout layout = layout_of(module, parts.scales, outputs, groups);
  parts.scale_steps = layout.steps;
  parts.group = groups.size;
  parts.kept = reading->kept;
  read_zeros(reading, module, {.bits = scheme.bits, .spanning = false}, outputs, layout, scheme, &parts);
  if (const std::string index = module + ".weight_g_idx"; reading->find(index)) {
    const CheckpointTensor given = reading->take(index, key);
    const std::vector<double> values = given.to_doubles();
    if (std::find(values.begin(), values.end(), -1.0) == values.end()) {
      check_group_index(index, given, inputs, layout.groups);
      parts.group_index = given;
    }
  }
  const auto bytes = integers.bytes;
  reading->add(key, {outputs, inputs}, bytes, affine_weight(std::move(parts)));
}

void expect_bits(const Scheme& scheme) {
  if (scheme.bits < 1 || scheme.bits > 8)
    unsupported("compressed-tensors with integers of " + std::to_string(scheme.bits) + " bits");
}

void read_packed(ModuleTensors* reading, const std::string& module, const Scheme& scheme) {
  const std::string key = module + ".weight_packed";
  if (scheme.type != "int") unsupported("the type '" + scheme.type + "' of packed weights of compressed-tensors");
  expect_bits(scheme);
  const CheckpointTensor words = reading->take(key, key);
  const CheckpointTensor shape = reading->take(module + ".weight_shape", key);
  expect_words(key, words);
  const std::vector<double> sides = shape.to_doubles();
  if (sides.size() != 2 || is_float(shape.type))
    fail("%s has %zu elements of type %s, expected two integers", in_quotes(module + ".weight_shape").c_str(),
         sides.size(), element_name(shape.type));
  constexpr double kMost = 1 << 30;
  for (const double side : sides)
    if (!(side >= 1 && side <= kMost))
      fail("%s holds %g, expected 1 to %g", in_quotes(module + ".weight_shape").c_str(), side, kMost);
  const auto outputs = static_cast<int64_t>(sides[0]), inputs = static_cast<int64_t>(sides[1]);
  const Packing packing = {.bits = scheme.bits, .spanning = false};
  expect_shape(key, words, {outputs, packing.words(inputs)},
               ("of " + std::to_string(inputs) + " inputs in " + std::to_string(scheme.bits) + " bits").c_str());
  read_module(
      reading, module, scheme,
      {.bytes = words.bytes, .packing = packing, .outer = outputs, .count = inputs, .added = -(1 << (scheme.bits - 1))},
      outputs, inputs);
}

}  // namespace

void read_compressed_tensors(ModuleTensors* reading) {
  refuse_transforms(reading->config);
  Schemes schemes(reading->config);
  for (const std::string& module : reading->modules(".weight_packed")) read_packed(reading, module, schemes.of(module));
  for (const std::string& module : reading->modules(".weight")) {
    const CheckpointTensor& stored = reading->tensors.at(module + ".weight");
    if (stored.type != ElementType::I8 || stored.shape.size() != 2 || stored.elements() == 0) continue;
    const Scheme& scheme = schemes.of(module);
    if (scheme.strategy == "block") continue;  // as 8-bit floats are read
    expect_bits(scheme);
    const CheckpointTensor weight = reading->take(module + ".weight", module);
    read_module(reading, module, scheme, {.bytes = weight.bytes, .packing = {}, .count = weight.elements()},
                weight.shape[0], weight.shape[1]);
  }
}

}  // namespace ferry::quantized
