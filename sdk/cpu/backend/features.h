// CPU features that decide how operators are lowered.
#pragma once

#include <cstddef>

namespace ferry::cpu {

struct CpuFeatures {
  size_t l2_bytes = 512 << 10;  // of the largest L2 cache of any core; this default where it is unknown
  bool avx2 = false;            // with FMA
  bool avx512f = false;
  bool avx512_vnni = false;    // with bytes and short vectors
  bool float16 = false;        // float16 arithmetic: ARMv8.2 on arm64; AVX2 with F16C, accumulating in float32, on x86
  bool dot_products = false;   // arm64: of four bytes
  bool byte_matrices = false;  // arm64: products of 2x8 and 8x2 bytes (I8MM)
  bool out_of_order = false;   // at least one arm64 core executes out of order (Cortex-A53, A55 and A510 do not)
  bool in_order = false;       // arm64, and no core executes out of order
};

// Detected once per process.
const CpuFeatures& cpu_features();

}  // namespace ferry::cpu
