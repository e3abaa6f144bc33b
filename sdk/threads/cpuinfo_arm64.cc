// The part of cpuinfo that Ferry and XNNPACK use, for arm64 Linux and Android. cpuinfo itself adds 20 KB: names of
// systems on chip, and caches.
#include "sdk/threads/cpuinfo.h"

#if FERRY_OWN_CPUINFO

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "sdk/threads/core_kinds.h"

cpuinfo_arm_isa ferrycpu_isa;

namespace ferry {
namespace {

constexpr uint64_t kHasDot = uint64_t{1} << 20, kHasFloat16 = uint64_t{3} << 9;  // of AT_HWCAP: asimddp; fphp, asimdhp
constexpr uint64_t kHasI8mm = uint64_t{1} << 13, kHasBf16 = uint64_t{1} << 14;   // of AT_HWCAP2

// The machine in cpuinfo's types.
struct Machine {
  Machine() {
    for (const CoreKinds::Kind& kind : cores.kinds()) infos[count++] = {.uarch = kind.uarch, .midr = kind.midr};
    core.uarch = infos[0].uarch;
    l2.size = cores.l2_bytes();
    const uint64_t has = getauxval(AT_HWCAP), has_too = getauxval(AT_HWCAP2);
    ferrycpu_isa.dot = (has & kHasDot) != 0 || cores.multiply_bytes();
    ferrycpu_isa.fp16arith = (has & kHasFloat16) == kHasFloat16;
    ferrycpu_isa.i8mm = (has_too & kHasI8mm) != 0;
    ferrycpu_isa.bf16 = (has_too & kHasBf16) != 0;
  }

  CoreKinds cores{"/sys/devices/system/cpu", "/proc/cpuinfo",
                  static_cast<size_t>(std::max<long>(sysconf(_SC_NPROCESSORS_CONF), 1))};
  std::array<cpuinfo_uarch_info, CoreKinds::kMaxKinds> infos{};
  uint32_t count = 0;
  cpuinfo_core core{};  // the biggest core
  cpuinfo_cache l2{};   // the largest L2 cache
};

const Machine& machine() {
  static const Machine machine;
  return machine;
}

}  // namespace
}  // namespace ferry

using ferry::machine;

bool ferrycpu_initialize() { return machine().count > 0; }
const cpuinfo_core* ferrycpu_get_core(uint32_t) { return &machine().core; }
const cpuinfo_uarch_info* ferrycpu_get_uarch(uint32_t index) {
  return index < machine().count ? &machine().infos[index] : nullptr;
}
uint32_t ferrycpu_get_uarchs_count() { return machine().count; }
const cpuinfo_cache* ferrycpu_get_l2_cache(uint32_t) { return &machine().l2; }
uint32_t ferrycpu_get_l2_caches_count() { return machine().l2.size > 0 ? 1 : 0; }

uint32_t ferrycpu_get_current_uarch_index_with_default(uint32_t otherwise) {
  unsigned cpu = 0;
  return syscall(__NR_getcpu, &cpu, nullptr, nullptr) == 0 ? machine().cores.kind_of(cpu, otherwise) : otherwise;
}

#endif
