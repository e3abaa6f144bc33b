// float16 elements (IEEE 754 binary16). Sessions of FERRY_PRECISION_FLOAT16 store them in the arena and in packed
// weights if the CPU computes with them (CpuFeatures::float16). States may hold them on any CPU.
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
// For kernels that are templates over float and Float16.
template <typename T>
const T* values_as(const void* data) {
  return static_cast<const T*>(data);
}
template <typename T>
T* values_as(void* data) {
  return static_cast<T*>(data);
}

// On any CPU, with instructions where it has them. Rounds to nearest, ties to even.
void widen(const Float16* from, float* to, size_t count);
void narrow(const float* from, Float16* to, size_t count);

// Elements per call of a float32 kernel: converted on the stack, they stay in the L1 cache.
inline constexpr size_t kFloat16sAtOnce = 512;

// body(first, count) over pieces of at most kFloat16sAtOnce elements.
template <typename Body>
void in_pieces(size_t count, const Body& body) {
  for (size_t first = 0; first < count; first += kFloat16sAtOnce) body(first, std::min(kFloat16sAtOnce, count - first));
}

}  // namespace ferry::cpu
