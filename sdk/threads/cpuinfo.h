// What the kinds of this machine's cores are, and which instructions they have: cpuinfo's functions, by its own header.
// On arm64 Linux and Android those that Ferry and XNNPACK call are ours (cpuinfo_arm64.cc), under names of ours, which
// XNNPACK's archive is given, too (cmake/xnnpack_cpuinfo.syms), so that an app's own cpuinfo and this one do not meet.
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

// Of arm64 cores.
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
