// Numbers of half precision (IEEE 754 binary16), which sessions of FERRY_PRECISION_FLOAT16 keep in the arena and in
// packed weights where the CPU computes with them (CpuFeatures::half).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ferry::cpu {

#if defined(__aarch64__)
using Float16 = __fp16;
#else
using Float16 = uint16_t;
#endif

inline const Float16* float16s(const void* data) { return static_cast<const Float16*>(data); }
inline Float16* float16s(void* data) { return static_cast<Float16*>(data); }
// Of kernels that are written once for floats and halves.
template <typename Number>
const Number* numbers(const void* data) {
  return static_cast<const Number*>(data);
}
template <typename Number>
Number* numbers(void* data) {
  return static_cast<Number*>(data);
}

// Only where the CPU has CpuFeatures::half. Rounds to the nearest, and to the even one of two.
void widen(const Float16* from, float* to, size_t count);
void narrow(const float* from, Float16* to, size_t count);

// Numbers that kernels for floats take at once: widened on the stack, they stay in the L1 cache.
inline constexpr size_t kFloat16sAtOnce = 512;

// body(first, count) over pieces of so many.
template <typename Body>
void in_pieces(size_t count, const Body& body) {
  for (size_t first = 0; first < count; first += kFloat16sAtOnce) body(first, std::min(kFloat16sAtOnce, count - first));
}

}  // namespace ferry::cpu
