// Kinds and instructions of this machine's cores: a subset of cpuinfo's functions, declared in its header. On arm64
// Linux and Android the functions that Ferry and XNNPACK call are implemented here (cpuinfo_arm64.cc), under other
// names. They are renamed in XNNPACK's archive, too (cmake/xnnpack_cpuinfo.syms), so that they do not clash with an
// app's own cpuinfo.
#pragma once

#if defined(__aarch64__) && defined(__linux__)
#define FERRY_OWN_CPUINFO 1
#define cpuinfo_initialize ferrycpu_initialize
#define cpuinfo_isa ferrycpu_isa
#define cpuinfo_get_core ferrycpu_get_core
#define cpuinfo_get_uarch ferrycpu_get_uarch
#define cpuinfo_get_uarchs_count ferrycpu_get_uarchs_count
#define cpuinfo_get_l2_cache ferrycpu_get_l2_cache
#define cpuinfo_get_l2_caches_count ferrycpu_get_l2_caches_count
#define cpuinfo_get_current_uarch_index_with_default ferrycpu_get_current_uarch_index_with_default
#endif

#include <cpuinfo.h>

namespace ferry {

// For arm64 cores.
inline bool executes_in_order(cpuinfo_uarch core) {
  switch (core) {
    case cpuinfo_uarch_cortex_a35:
    case cpuinfo_uarch_cortex_a53:
    case cpuinfo_uarch_cortex_a55r0:
    case cpuinfo_uarch_cortex_a55:
    case cpuinfo_uarch_cortex_a510:
    case cpuinfo_uarch_cortex_a520: return true;
    default: return false;
  }
}

}  // namespace ferry
