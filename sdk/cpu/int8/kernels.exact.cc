#include <algorithm>

#include "sdk/cpu/int8/int8.h"
#include "sdk/kernel.h"

namespace ferry::cpu {
namespace {

// Rounds a number within 2^22 to the nearest whole one, halves to the even one: no bits below 1 are left of the sum.
constexpr float kRound = 0x1.8p23f;

struct Rounding {
  float low, high;
  int32_t zero_point;

  explicit Rounding(const Int8Output& output)
      : low(static_cast<float>(output.low - output.zero_point)),
        high(static_cast<float>(output.high - output.zero_point)),
        zero_point(output.zero_point) {}

  [[gnu::always_inline]] int8_t operator()(float value) const {
    value = value > low ? value : low;
    value = value < high ? value : high;
    return static_cast<int8_t>(static_cast<int32_t>((value + kRound) - kRound) + zero_point);
  }
};

}  // namespace

FERRY_KERNEL void quantize_floats(const float* from, float multiplier, const Int8Output& output, int8_t* to,
                                  size_t count) {
  const Rounding rounded(output);
  for (size_t i = 0; i < count; ++i) {
    const float value = from[i] * multiplier;
    to[i] = rounded(value == value ? value : 0.0f);
  }
}

FERRY_KERNEL void dequantize(const int8_t* from, const Int8Scale& scale, float* to, size_t count) {
  const float step = scale.scale;
  const int32_t zero_point = scale.zero_point;
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i] - zero_point) * step;
}

FERRY_KERNEL void requantize(const int8_t* from, int32_t zero_point, float multiplier, const Int8Output& output,
                             int8_t* to, size_t count) {
  const Rounding rounded(output);
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) to[i] = rounded(static_cast<float>(from[i] - zero_point) * multiplier);
}

namespace {

template <size_t kStep>
[[gnu::always_inline]] inline void add_row(const int8_t* a, const int8_t* b, const Int8Operands& operands,
                                           const Int8Output& output, int8_t* to, size_t count) {
  const Rounding rounded(output);
  const Int8Operands o = operands;
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float left = static_cast<float>(a[i] - o.zero_a) * o.scale_a;
    const float right = static_cast<float>(b[i * kStep] - o.zero_b) * o.scale_b;
    to[i] = rounded(left + right);
  }
}

template <size_t kStep>
[[gnu::always_inline]] inline void multiply_row(const int8_t* a, const int8_t* b, const Int8Operands& operands,
                                                const Int8Output& output, int8_t* to, size_t count) {
  const Rounding rounded(output);
  const Int8Operands o = operands;
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const int32_t product = (a[i] - o.zero_a) * (b[i * kStep] - o.zero_b);
    to[i] = rounded(static_cast<float>(product) * o.scale_a);
  }
}

}  // namespace

FERRY_KERNEL void add_rows(const int8_t* a, const int8_t* b, size_t step_b, const Int8Operands& operands,
                           const Int8Output& output, int8_t* to, size_t count) {
  if (step_b == 0) return add_row<0>(a, b, operands, output, to, count);
  add_row<1>(a, b, operands, output, to, count);
}

FERRY_KERNEL void multiply_rows(const int8_t* a, const int8_t* b, size_t step_b, const Int8Operands& operands,
                                const Int8Output& output, int8_t* to, size_t count) {
  if (step_b == 0) return multiply_row<0>(a, b, operands, output, to, count);
  multiply_row<1>(a, b, operands, output, to, count);
}

FERRY_KERNEL void add_to_sums(const int8_t* from, int32_t zero_point, int32_t* sums, size_t count) {
  for (size_t i = 0; i < count; ++i)
    sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + static_cast<uint32_t>(from[i] - zero_point));
}

FERRY_KERNEL void quantize_sums(const int32_t* sums, float multiplier, const Int8Output& output, int8_t* to,
                                size_t count) {
  const Rounding rounded(output);
  for (size_t i = 0; i < count; ++i) to[i] = rounded(static_cast<float>(sums[i]) * multiplier);
}

FERRY_KERNEL int32_t wide_product(const int8_t* x, int32_t zero_point, const int16_t* weight, size_t count) {
  const auto zero = static_cast<int16_t>(zero_point);
  uint32_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto centred = static_cast<int16_t>(x[i] - zero);
    sum += static_cast<uint32_t>(int32_t{centred} * int32_t{weight[i]});
  }
  return static_cast<int32_t>(sum);
}

FERRY_KERNEL void maximum(const int8_t* from, int8_t* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = std::max(to[i], from[i]);
}

}  // namespace ferry::cpu
