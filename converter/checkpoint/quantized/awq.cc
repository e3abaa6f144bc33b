// AWQ (Lin et al., arXiv:2306.00978), as AutoAWQ saves it for its GEMM kernels. Of a module X, in 4 bits:
//
//     X.qweight  I32 [inputs, outputs / 8]    integers, packed along the outputs
//     X.qzeros   I32 [groups, outputs / 8]    zero points, likewise
//     X.scales   F16 [groups, outputs]
//
// A word holds outputs 0 2 4 6 1 3 5 7 of eight, from its lowest bits.
#include <algorithm>

#include "converter/checkpoint/quantized/affine.h"
#include "converter/checkpoint/quantized/method.h"
#include "converter/error.h"

namespace ferry::quantized {
namespace {

using nlohmann::json;

constexpr Packing kPacking = {.bits = 4, .place = {0, 4, 1, 5, 2, 6, 3, 7}};

// Versions name kernels. These load the layout of gemm.
bool has_gemm_layout(const std::string& version) {
  return version == "gemm" || version == "exllama" || version == "ipex";
}

// Inputs of a group; -1: all. Throws Error if the file has another layout.
int64_t group_of(const json& config) {
  std::string version = text_member(config, "version", text_member(config, "checkpoint_format", "gemm").c_str());
  for (char& c : version) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (!has_gemm_layout(version)) unsupported("the version '" + version + "' of awq");
  const int64_t bits = integer_member(config, "bits", integer_member(config, "w_bit", 4));
  if (bits != 4) unsupported("awq with " + std::to_string(bits) + " bits");
  return integer_member(config, "group_size", integer_member(config, "q_group_size", 128));
}

}  // namespace

void read_awq(ModuleTensors* reading) {
  const int64_t usual = group_of(reading->config);
  for (const std::string& module : reading->modules(".qweight")) {
    const std::string key = module + ".qweight";
    const CheckpointTensor words = reading->take(key, key), zeros = reading->take(module + ".qzeros", key);
    const CheckpointTensor scales = reading->take(module + ".scales", key);
    expect_words(key, words);
    expect_matrix(key, words);
    const int64_t inputs = words.shape[0], outputs = words.shape[1] * 8;
    const Groups groups = groups_of(usual, inputs);
    const std::string of = groups.text();
    expect_shape(module + ".scales", scales, {groups.count, outputs}, of.c_str());
    expect_scales(module + ".scales", scales);
    expect_words(module + ".qzeros", zeros);
    expect_shape(module + ".qzeros", zeros, {groups.count, words.shape[1]}, of.c_str());
    const Steps steps = {.row = 1, .group = outputs};
    reading->add(
        module + ".weight", {outputs, inputs}, words.bytes,
        affine_weight(
            {.integers = {.bytes = words.bytes, .packing = kPacking, .outer = inputs, .count = outputs},
             .by_column = true,
             .zeros = Integers{.bytes = zeros.bytes, .packing = kPacking, .outer = groups.count, .count = outputs},
             .zero_steps = steps,
             .scales = scales,
             .scale_steps = steps,
             .group = groups.size,
             .kept = reading->kept}));
  }
}

}  // namespace ferry::quantized
