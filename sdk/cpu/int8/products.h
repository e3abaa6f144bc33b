// What operators with constant weights and Int8 activations are created from.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "sdk/cpu/backend/algorithms.h"
#include "sdk/cpu/backend/packing.h"
#include "sdk/cpu/int8/int8.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/operators.h"

namespace ferry::cpu {

// The maximum magnitude of weights that the kernels multiply.
inline constexpr int32_t kMaxNarrow = 127;

// Wraps *op, a convolution or linear that computes with Int8Weights: output channels whose weights exceed kMaxNarrow
// without their zero point are computed anew. Does nothing where there are none.
Status add_wide_channels(const Weighted& weighted, std::unique_ptr<Op>* op);

// The weight's integers, and the bias as Int32.
class Int8Weights : public WeightSource {
 public:
  Int8Weights(const Model& model, const fbs::Operator& op) : WeightSource(model, op), model_(model), op_(op) {}

  // Without the zero point; beyond 8 signed bits clamped, for WideChannels computes those channels.
  // FERRY_UNSUPPORTED: a weight is -128; the sum of two of its products overflows 16 bits in XNNPACK's kernels for ARM.
  Status load(const void** weight, const float** bias) override {
    const StoredConstant stored = model_.stored(op_.inputs()->Get(1));
    std::span<const std::byte> bytes = stored.bytes;
    if (stored.type.zero_point != 0) {
      for (const std::byte b : bytes)
        centred_.push_back(static_cast<std::byte>(
            std::clamp(static_cast<int8_t>(b) - stored.type.zero_point, -kMaxNarrow, kMaxNarrow)));
      bytes = centred_;
    }
    if (std::find(bytes.begin(), bytes.end(), std::byte{0x80}) != bytes.end())
      return error(FERRY_UNSUPPORTED, "%s: a weight is -128, expected -127 to 127", op_name(op_.params_type()));
    *weight = bytes.data();
    *bias = has_bias() ? reinterpret_cast<const float*>(model_.constant(op_.inputs()->Get(2)).data()) : nullptr;
    return {};
  }

 private:
  const Model& model_;
  const fbs::Operator& op_;
  std::vector<std::byte> centred_;
};

// What both operators are created with.
struct Int8Product {
  Int8Scale from, to;
  int8_t low, high;
  std::vector<float> scales;  // of the weight, per output channel

  explicit Int8Product(const Weighted& weighted)
      : from(int8_scale(weighted.model, weighted.op.inputs()->Get(0))),
        to(int8_scale(weighted.model, output_of(weighted.op))),
        low(to.integer(weighted.gemm.output_min)),
        high(to.integer(weighted.gemm.output_max)) {
    const StoredConstant weight = weighted.model.stored(weighted.op.inputs()->Get(1));
    const auto* stored = reinterpret_cast<const float*>(weight.scales.data());
    for (int32_t o = 0; o < weight.shape[0]; ++o)
      scales.push_back(stored[weight.scales.size() == sizeof(float) ? 0 : o]);
  }

  // FERRY_UNSUPPORTED: a scale that the kernels cannot compute with.
  Status check(fbs::OpParams type) const {
    constexpr float kTooLarge = 256;  // XNNPACK's limit
    for (size_t o = 0; o < scales.size(); ++o) {
      const float multiplier = from.scale * scales[o] / to.scale;
      if (std::isnormal(scales[o]) && scales[o] > 0 && multiplier < kTooLarge) continue;
      return error(FERRY_UNSUPPORTED,
                   "%s: the weight's scale of output channel %zu is %g, expected a normal number above 0 and below %g",
                   op_name(type), o, static_cast<double>(scales[o]),
                   static_cast<double>(kTooLarge * to.scale / from.scale));
    }
    return {};
  }

  PackingId identity(const char* layout, uint32_t version) const {
    return PackingId(layout, version)
        .add(static_cast<size_t>(from.zero_point + 128))
        .add(std::bit_cast<uint32_t>(from.scale))
        .add(std::bit_cast<uint32_t>(to.scale));
  }
  int8_t from_zero() const { return static_cast<int8_t>(from.zero_point); }
  int8_t to_zero() const { return static_cast<int8_t>(to.zero_point); }
};

}  // namespace ferry::cpu
