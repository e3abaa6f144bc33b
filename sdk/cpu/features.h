// What this CPU can do that lowerings choose by.
#pragma once

namespace ferry::cpu {

struct CpuFeatures {
  bool avx2 = false;  // with FMA
  bool avx512f = false;
};

// Detected once in the process.
const CpuFeatures& cpu_features();

}  // namespace ferry::cpu
