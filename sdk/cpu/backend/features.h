// What this CPU can do that lowerings choose by.
#pragma once

#include <cstddef>

namespace ferry::cpu {

struct CpuFeatures {
  size_t l2_bytes = 512 << 10;  // of the cores' largest L2 cache; this, where it is not known
  bool avx2 = false;            // with FMA
  bool avx512f = false;
  bool avx512_vnni = false;   // with bytes and short vectors
  bool float16 = false;       // float16 arithmetic: on arm64 ARMv8.2's, on x86 AVX2 with F16C, which adds up floats
  bool out_of_order = false;  // there are arm64 cores that execute so, unlike Cortex-A53, A55 or A510
  bool in_order = false;      // there are arm64 cores, none of which does
};

// Detected once in the process.
const CpuFeatures& cpu_features();

}  // namespace ferry::cpu
