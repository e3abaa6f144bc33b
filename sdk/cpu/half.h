// Numbers of half precision (IEEE 754 binary16), which sessions of FERRY_PRECISION_FLOAT16 keep in the arena and in
// packed weights where the CPU computes with them (CpuFeatures::half).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ferry::cpu {

#if defined(__aarch64__)
using Half = __fp16;
#else
using Half = uint16_t;
#endif

inline const Half* halves(const void* data) { return static_cast<const Half*>(data); }
inline Half* halves(void* data) { return static_cast<Half*>(data); }
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
void widen(const Half* from, float* to, size_t count);
void narrow(const float* from, Half* to, size_t count);

// Numbers that kernels for floats take at once: widened on the stack, they stay in the L1 cache.
inline constexpr size_t kHalvesAtOnce = 512;

// body(first, count) over pieces of so many.
template <typename Body>
void in_pieces(size_t count, const Body& body) {
  for (size_t first = 0; first < count; first += kHalvesAtOnce) body(first, std::min(kHalvesAtOnce, count - first));
}

}  // namespace ferry::cpu
