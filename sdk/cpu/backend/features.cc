#include "sdk/cpu/backend/features.h"

#include <algorithm>

#include "sdk/threads/cpuinfo.h"

namespace ferry::cpu {

namespace {

CpuFeatures detect() {
  CpuFeatures features;
  const bool described = cpuinfo_initialize();
  size_t l2_bytes = 0;
  for (uint32_t i = 0; described && i < cpuinfo_get_l2_caches_count(); ++i)
    l2_bytes = std::max<size_t>(l2_bytes, cpuinfo_get_l2_cache(i)->size);
  if (l2_bytes > 0) features.l2_bytes = l2_bytes;
#if defined(__x86_64__)
  features.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  features.float16 = features.avx2 && cpuinfo_has_x86_f16c();
  features.avx512f = __builtin_cpu_supports("avx512f");
  features.avx512_vnni = features.avx512f && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                         __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__)
  features.float16 = described && cpuinfo_has_arm_neon_fp16_arith();
  features.dot_products = described && cpuinfo_has_arm_neon_dot();
  features.byte_matrices = described && cpuinfo_has_arm_i8mm();
  for (uint32_t i = 0; described && i < cpuinfo_get_uarchs_count(); ++i)
    features.out_of_order = features.out_of_order || !executes_in_order(cpuinfo_get_uarch(i)->uarch);
  features.in_order = !features.out_of_order;
#endif
  return features;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace ferry::cpu
