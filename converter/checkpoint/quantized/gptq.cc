// GPTQ (Frantar et al., arXiv:2210.17323), as AutoGPTQ and GPTQModel save it. Of a module X:
//
//     X.qweight  I32 [inputs * bits / 32, outputs]   integers, packed along the inputs
//     X.qzeros   I32 [groups, outputs * bits / 32]   zero points, packed along the outputs
//     X.scales   F16 [groups, outputs]
//     X.g_idx    I32 [inputs]                        the group of each input, which act-order needs
//
// The checkpoint_format "gptq" stores each zero point less 1, modulo 2^bits; "gptq_v2" stores it as it is.
#include <algorithm>

#include "converter/checkpoint/json.h"
#include "converter/checkpoint/quantized/affine.h"
#include "converter/checkpoint/quantized/method.h"
#include "converter/checkpoint/quantized/name_pattern.h"
#include "converter/error.h"

namespace ferry::quantized {
namespace {

using nlohmann::json;

struct Settings {
  int bits;
  int64_t group;   // -1: all inputs
  bool symmetric;  // zero points are 2^(bits - 1)
};

// With the settings of `object`, else `absent`.
Settings settings_of(const json& object, const Settings& absent) {
  Settings out = {.bits = static_cast<int>(std::clamp<int64_t>(integer_member(object, "bits", absent.bits), 0, 64)),
                  .group = integer_member(object, "group_size", absent.group),
                  .symmetric = flag_member(object, "sym", absent.symmetric)};
  if (out.bits != 2 && out.bits != 3 && out.bits != 4 && out.bits != 8)
    unsupported("gptq with " + std::to_string(out.bits) + " bits");
  return out;
}

bool is_v2(const json& config) {
  const std::string format = text_member(config, "checkpoint_format", text_member(config, "format", "gptq").c_str());
  if (flag_member(config, "is_marlin_format", false)) unsupported("the checkpoint_format 'marlin' of gptq");
  if (format != "gptq" && format != "gptq_v2") unsupported("the checkpoint_format '" + format + "' of gptq");
  if (const std::string type = text_member(config, "pack_dtype", "int32"); type != "int32")
    unsupported("the pack_dtype '" + type + "' of gptq");
  return format == "gptq_v2";
}

// GPTQModel's "dynamic": settings of modules by regular expressions, of which the first that matches a name's beginning
// counts. "+:" may precede an expression; "-:" leaves modules unquantised.
class Overrides {
 public:
  explicit Overrides(const json& config) {
    const json dynamic = config.value("dynamic", json());
    if (!dynamic.is_null() && !dynamic.is_object()) fail("%s: dynamic is no object", kWhere);
    if (dynamic.is_null()) return;
    for (const auto& [pattern, settings] : dynamic.items()) {
      if (pattern.starts_with("-:")) continue;
      list_.emplace_back(NamePattern(pattern.starts_with("+:") ? pattern.substr(2) : pattern, "dynamic"), settings);
    }
  }

  Settings of(const std::string& module, const Settings& usual) {
    for (const auto& [pattern, settings] : list_)
      if (pattern.begins(module, &work_)) return settings_of(settings, usual);
    return usual;
  }

 private:
  std::vector<std::pair<NamePattern, json>> list_;
  uint64_t work_ = 0;
};

// Files that are symmetric are at times of the other format than they say. Their zero points show it: they are all
// 2^(bits - 1), or all that less 1.
bool stores_true_zeros(const Integers& zeros, const Settings& settings, bool said) {
  if (!settings.symmetric) return said;
  const std::vector<int16_t> values = zeros.values();
  const int middle = 1 << (settings.bits - 1), expected = said ? middle - 1 : middle;  // in the other format
  const bool other = std::all_of(values.begin(), values.end(), [&](int16_t value) { return value == expected; });
  return said != other;
}

}  // namespace

void read_gptq(ModuleTensors* reading) {
  const Settings usual = settings_of(reading->config, {.bits = 4, .group = 128, .symmetric = true});
  Overrides overrides(reading->config);
  const bool v2 = is_v2(reading->config);
  size_t mistaken = 0;
  for (const std::string& module : reading->modules(".qweight")) {
    const std::string key = module + ".qweight";
    const CheckpointTensor words = reading->take(key, key), zeros = reading->take(module + ".qzeros", key);
    const CheckpointTensor scales = reading->take(module + ".scales", key);
    const Settings settings = overrides.of(module, usual);
    const Packing packing{.bits = settings.bits};
    expect_words(key, words);
    expect_matrix(key, words);
    const int64_t outputs = words.shape[1];
    int64_t inputs = words.shape[0] * 32 / settings.bits;
    std::optional<CheckpointTensor> index;
    if (reading->find(module + ".g_idx")) index = reading->take(module + ".g_idx", key);
    if (index && index->elements() == 0) index.reset();
    if (index && index->shape.size() == 1) inputs = index->elements();
    expect_shape(key, words, {packing.words(inputs), outputs},
                 ("of " + std::to_string(inputs) + " inputs in " + std::to_string(settings.bits) + " bits").c_str());
    const Groups groups = groups_of(settings.group, inputs);
    const std::string of = groups.text();
    expect_shape(module + ".scales", scales, {groups.count, outputs}, of.c_str());
    expect_scales(module + ".scales", scales);
    expect_words(module + ".qzeros", zeros);
    expect_shape(module + ".qzeros", zeros, {groups.count, packing.words(outputs)}, of.c_str());
    if (index) check_group_index(module + ".g_idx", *index, inputs, groups.count);

    Integers zero_points{.bytes = zeros.bytes, .packing = packing, .outer = groups.count, .count = outputs};
    const bool as_they_are = stores_true_zeros(zero_points, settings, v2);
    mistaken += as_they_are != v2;
    zero_points.added = as_they_are ? 0 : 1;
    zero_points.wrapped = true;
    const Steps steps = {.row = 1, .group = outputs};
    reading->add(
        module + ".weight", {outputs, inputs}, words.bytes,
        affine_weight({.integers = {.bytes = words.bytes, .packing = packing, .count = inputs, .inner = outputs},
                       .by_column = true,
                       .zeros = zero_points,
                       .zero_steps = steps,
                       .scales = scales,
                       .scale_steps = steps,
                       .group = groups.size,
                       .group_index = index,
                       .kept = reading->kept}));
  }
  if (mistaken > 0)
    reading->notes.push_back(std::to_string(mistaken) + " symmetric weights have the zero points of " +
                             (v2 ? "gptq, not of gptq_v2" : "gptq_v2, not of gptq") +
                             " as the configuration says: they are read by their values");
}

}  // namespace ferry::quantized
