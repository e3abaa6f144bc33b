#include "sdk/cpu/backend/fingerprint.h"

#include <ferry/ferry.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "sdk/cpu/xnnpack/weights.h"
#include "sdk/model/seeded.h"
#include "sdk/operators/built_in.h"
#include "sdk/version.h"

namespace ferry::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kNumbers = 8192;  // of known weights: more than any probe reads

// Packs known weights as an XNNPACK operator does and adds the bytes to the hash.
template <typename Create>
Status probe(const std::vector<float>& known, fbs::OpParams type, Create create, uint64_t* hash) {
  std::vector<std::byte> packed;
  FERRY_TRY(pack_known(known.data(), type, create, &packed));
  *hash = fnv1a64({reinterpret_cast<const char*>(packed.data()), packed.size()}, *hash);
  return {};
}

// Probes a convolution of `groups` groups with `inputs` and `outputs` channels per group.
Status probe_conv(const std::vector<float>& known, uint32_t kernel, uint32_t groups, size_t inputs, size_t outputs,
                  uint64_t* hash) {
  const auto create = [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
    return xnn_create_convolution2d_nhwc_f32(0, 0, 0, 0, kernel, kernel, 1, 1, 1, 1, groups, inputs, outputs,
                                             groups * inputs, groups * outputs, floats(weight), bias, -kInfinity,
                                             kInfinity, /*flags=*/0, /*code_cache=*/nullptr, cache, op);
  };
  return probe(known, fbs::OpParams::Conv2d, create, hash);
}

Status probe_linear(const std::vector<float>& known, uint64_t* hash) {
  constexpr size_t kInputs = 19, kOutputs = 70;  // more than one tile, and a multiple of no tile size
  const auto create = [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
    return xnn_create_fully_connected_nc_f32(kInputs, kOutputs, kInputs, kOutputs, floats(weight), bias, -kInfinity,
                                             kInfinity, /*flags=*/0, /*code_cache=*/nullptr, cache, op);
  };
  return probe(known, fbs::OpParams::Linear, create, hash);
}

Status probe_transposed(const std::vector<float>& known, uint64_t* hash) {
  constexpr size_t kInputs = 3, kOutputs = 5;
  const auto create = [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
    return xnn_create_deconvolution2d_nhwc_f32(0, 0, 0, 0, 3, 3, 2, 2, 1, 1, 1, kInputs, kOutputs, kInputs, kOutputs,
                                               floats(weight), bias, -kInfinity, kInfinity, /*flags=*/0,
                                               /*code_cache=*/nullptr, cache, op);
  };
  return probe(known, fbs::OpParams::ConvTranspose2d, create, hash);
}

// Quantized weights, whose kernels XNNPACK selects by other CPU features: 8 bits, then 4 bits in blocks.
Status probe_integers(const std::vector<float>& known, uint64_t* hash) {
  constexpr size_t kInputs = 64, kOutputs = 70, kBlock = 32;
  const std::vector<float> scales(kOutputs, 1.0f);
  const auto eight = [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
    return xnn_create_fully_connected_nc_qd8_f32_qc8w(kInputs, kOutputs, kInputs, kOutputs, scales.data(),
                                                      static_cast<const int8_t*>(weight), bias, -kInfinity, kInfinity,
                                                      /*flags=*/0, /*code_cache=*/nullptr, cache, op);
  };
  const std::vector<uint16_t> block_scales(kOutputs * kInputs / kBlock, 0x3f80);  // 1 in bfloat16
  const auto four = [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
    return xnn_create_fully_connected_nc_qd8_f32_qb4w(kInputs, kOutputs, kInputs, kOutputs, kBlock,
                                                      /*kernel_zero_point=*/8, block_scales.data(), weight, bias,
                                                      -kInfinity, kInfinity, /*flags=*/0, /*code_cache=*/nullptr, cache,
                                                      op);
  };
  // If XNNPACK has no such kernel for this CPU, there are no such packed weights and the fingerprint differs.
  const auto settle = [&](const Status& status) {
    if (status.code() != FERRY_UNSUPPORTED) return status;
    *hash = fnv1a64("none", *hash);
    return Status();
  };
  FERRY_TRY(settle(probe(known, fbs::OpParams::Linear, eight, hash)));
  return settle(probe(known, fbs::OpParams::Linear, four, hash));
}

// Weights of Int8 activations: grouped and depthwise convolutions, and a linear layer.
Status probe_int8(const std::vector<float>& known, uint64_t* hash) {
  constexpr size_t kOutputs = 70;
  const std::vector<float> scales(kOutputs, 1.0f);
  const auto integers = [](const auto* data) { return reinterpret_cast<const int32_t*>(data); };
  const auto conv = [&](uint32_t kernel, uint32_t groups, size_t inputs, size_t outputs) {
    const auto create = [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
      return xnn_create_convolution2d_nhwc_qs8_qc8w(
          0, 0, 0, 0, kernel, kernel, 1, 1, 1, 1, groups, inputs, outputs, groups * inputs, groups * outputs,
          /*input_zero_point=*/1, 1.0f, scales.data(), static_cast<const int8_t*>(weight), integers(bias),
          /*output_zero_point=*/0, 1.0f, INT8_MIN, INT8_MAX, /*flags=*/0, /*code_cache=*/nullptr, cache, op);
    };
    return probe(known, fbs::OpParams::Conv2d, create, hash);
  };
  FERRY_TRY(conv(3, 2, 3, 5));
  for (const uint32_t kernel : {3u, 5u}) FERRY_TRY(conv(kernel, kOutputs, 1, 1));
  const auto linear = [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
    constexpr size_t kInputs = 19;
    return xnn_create_fully_connected_nc_qs8_qc8w(kInputs, kOutputs, kInputs, kOutputs, /*input_zero_point=*/1, 1.0f,
                                                  scales.data(), static_cast<const int8_t*>(weight), integers(bias),
                                                  /*output_zero_point=*/0, 1.0f, INT8_MIN, INT8_MAX, /*flags=*/0,
                                                  /*code_cache=*/nullptr, cache, op);
  };
  return probe(known, fbs::OpParams::Linear, linear, hash);
}

constexpr const char* kArchitecture =
#if defined(__x86_64__)
    "x86-64";
#elif defined(__aarch64__)
    "arm64";
#elif defined(__arm__)
    "arm";
#elif defined(__riscv) && __riscv_xlen == 64
    "riscv64";
#else
    "other";
#endif

}  // namespace

Status fingerprint(const CpuFeatures& cpu, Fingerprint* out) {
  std::vector<float> known(kNumbers);
  for (size_t i = 0; i < known.size(); ++i) known[i] = static_cast<float>(i + 1);
  uint64_t hash = fnv1a64(kVersion, fnv1a64(kArchitecture));
  FERRY_TRY(probe_linear(known, &hash));
  FERRY_TRY(probe_conv(known, 3, 2, 3, 5, &hash));
  // Depthwise kernels of every size that XNNPACK packs differently.
  if constexpr (built_in(Feature::OtherDepthwise))
    for (const uint32_t kernel : {1u, 2u, 3u, 5u, 7u}) FERRY_TRY(probe_conv(known, kernel, 70, 1, 1, &hash));
  if constexpr (built_in(fbs::OpParams::ConvTranspose2d)) FERRY_TRY(probe_transposed(known, &hash));
  if constexpr (built_in(Feature::Integers)) FERRY_TRY(probe_integers(known, &hash));
  if constexpr (built_in(fbs::OpParams::Requantize)) FERRY_TRY(probe_int8(known, &hash));
  out->value = PackingId("fingerprint", kXnnLayouts)
                   .add(hash)
                   .add(cpu.avx2 || cpu.avx512f || cpu.out_of_order || cpu.in_order)
                   .value();
  out->description = std::string(kArchitecture) + (cpu.avx512f        ? " avx512f"
                                                   : cpu.avx2         ? " avx2"
                                                   : cpu.out_of_order ? " out-of-order"
                                                                      : "");
  return {};
}

Status packed_target(const Model& model, PackedTarget* out) {
  Fingerprint here;
  FERRY_TRY(fingerprint(cpu_features(), &here));
  return PackedTarget::of(model, here.value, here.description, out);
}

}  // namespace ferry::cpu
