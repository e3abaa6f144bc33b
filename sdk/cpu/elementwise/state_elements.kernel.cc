#include "sdk/cpu/elementwise/state_elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sdk/cpu/elementwise/float16.h"
#include "sdk/kernel.h"

namespace ferry::cpu {
namespace {

FERRY_KERNEL void load_integers(const int8_t* __restrict from, float scale, size_t count, float* __restrict to) {
  constexpr size_t kAtOnce = 16;
  size_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce)
    for (size_t k = 0; k < kAtOnce; ++k) to[i + k] = scale * static_cast<float>(from[i + k]);
#pragma GCC unroll 1
  for (; i < count; ++i) to[i] = scale * static_cast<float>(from[i]);
}

void load_block(const std::byte* from, size_t count, float* to) {
  float scale;
  std::memcpy(&scale, from, sizeof scale);
  load_integers(reinterpret_cast<const int8_t*>(from + sizeof scale), scale, count, to);
}

// Once for every row; compiled for size.
[[gnu::cold]] void store_block(const float* from, size_t count, std::byte* to) {
  constexpr float kSmallest = 1e-30f;  // smaller blocks become zero: their reciprocal might be infinite
  float largest = 0, not_finite = 0;
  for (size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::fabs(from[i]));
    not_finite += from[i] * 0.0f;
  }
  const float scale = (largest < kSmallest ? 0.0f : largest / 127) + not_finite;
  const float factor = scale > 0 ? 127 / largest : 0.0f;
  std::memcpy(to, &scale, sizeof scale);
  int8_t* integers = reinterpret_cast<int8_t*>(to + sizeof scale);
  for (size_t i = 0; i < count; ++i)
    integers[i] = scale > 0 ? static_cast<int8_t>(std::lrintf(from[i] * factor)) : int8_t{1};  // not of a NaN
}

}  // namespace

void StateElements::load(const void* state, size_t first, size_t count, float* to) const {
  const auto* bytes = static_cast<const std::byte*>(state);
  switch (dtype) {
    case fbs::DType::Float16: return widen(float16s(state) + first, to, count);
    case fbs::DType::Int8:
      for (size_t i = 0; i < count; i += block)
        load_block(bytes + (first + i) / block * (block + sizeof(float)), block, to + i);
      return;
    default: std::memcpy(to, bytes + first * sizeof(float), count * sizeof(float));
  }
}

void StateElements::store(const float* from, size_t first, size_t count, void* state) const {
  auto* bytes = static_cast<std::byte*>(state);
  switch (dtype) {
    case fbs::DType::Float16: return narrow(from, float16s(state) + first, count);
    case fbs::DType::Int8:
      for (size_t i = 0; i < count; i += block)
        store_block(from + i, block, bytes + (first + i) / block * (block + sizeof(float)));
      return;
    default: std::memcpy(bytes + first * sizeof(float), from, count * sizeof(float));
  }
}

}  // namespace ferry::cpu
