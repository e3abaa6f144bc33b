#include "sdk/cpu/features.h"

namespace ferry::cpu {
namespace {

CpuFeatures detect() {
  CpuFeatures features;
#if defined(__x86_64__)
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.avx512f = __builtin_cpu_supports("avx512f");
#endif
  return features;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace ferry::cpu
