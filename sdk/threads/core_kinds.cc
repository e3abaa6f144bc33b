#include "sdk/threads/core_kinds.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace ferry {
namespace {

constexpr int kNever = 16;

// A core design for which XNNPACK selects kernels.
struct Design {
  uint16_t implementer, part;
  int first_with_dot;  // first variant with byte multiplication (SDOT), which not every kernel reports; kNever: rely on
                       // the kernel
  cpuinfo_uarch uarch;
};
constexpr Design kDesigns[] = {
    {'A', 0xd03, kNever, cpuinfo_uarch_cortex_a53},
    {'A', 0xd04, kNever, cpuinfo_uarch_cortex_a35},
    {'A', 0xd05, 1, cpuinfo_uarch_cortex_a55},  // a55r0 before
    {'A', 0xd07, kNever, cpuinfo_uarch_cortex_a57},
    {'A', 0xd08, kNever, cpuinfo_uarch_cortex_a72},
    {'A', 0xd09, kNever, cpuinfo_uarch_cortex_a73},
    {'A', 0xd0a, 2, cpuinfo_uarch_cortex_a75},
    {'A', 0xd0b, 0, cpuinfo_uarch_cortex_a76},
    {'A', 0xd0c, 0, cpuinfo_uarch_neoverse_n1},
    {'A', 0xd0d, 0, cpuinfo_uarch_cortex_a77},
    {'A', 0xd0e, 0, cpuinfo_uarch_cortex_a76},  // A76AE
    {'A', 0xd41, kNever, cpuinfo_uarch_cortex_a78},
    {'A', 0xd46, kNever, cpuinfo_uarch_cortex_a510},
    {'A', 0xd4e, kNever, cpuinfo_uarch_cortex_x3},
    {'A', 0xd4f, kNever, cpuinfo_uarch_neoverse_v2},
    {'A', 0xd80, kNever, cpuinfo_uarch_cortex_a520},
    {'H', 0xd40, 0, cpuinfo_uarch_cortex_a76},  // Kirin 980
    {'Q', 0x201, kNever, cpuinfo_uarch_kryo},   // Snapdragon 820 and 821
    {'Q', 0x205, kNever, cpuinfo_uarch_kryo},
    {'Q', 0x211, kNever, cpuinfo_uarch_kryo},
    {'Q', 0x800, kNever, cpuinfo_uarch_cortex_a73},  // Kryo 260 and 280
    {'Q', 0x801, kNever, cpuinfo_uarch_cortex_a53},
    {'Q', 0x802, kNever, cpuinfo_uarch_cortex_a75},  // Kryo 385
    {'Q', 0x803, kNever, cpuinfo_uarch_cortex_a55r0},
    {'Q', 0x804, 0, cpuinfo_uarch_cortex_a76},  // Kryo 485
    {'Q', 0x805, 0, cpuinfo_uarch_cortex_a55},
    // Exynos M1 uses the kernels for Cortex-A75: XNNPACK's own ones are not worth their size.
    {'S', 0x001, kNever, cpuinfo_uarch_cortex_a75},
    {'S', 0x002, kNever, cpuinfo_uarch_exynos_m3},
    {'S', 0x003, 0, cpuinfo_uarch_exynos_m4},
    {'S', 0x004, 0, cpuinfo_uarch_exynos_m5},
};

const Design* find_design(uint32_t midr) {
  const auto* const found = std::find_if(std::begin(kDesigns), std::end(kDesigns), [&](const Design& design) {
    return design.implementer == midr >> 24 && design.part == (midr >> 4 & 0xfff);
  });
  return found != std::end(kDesigns) ? found : nullptr;
}
int variant(uint32_t midr) { return static_cast<int>(midr >> 20 & 0xf); }

cpuinfo_uarch uarch_of(uint32_t midr) {
  const Design* const design = find_design(midr);
  if (design == nullptr) return cpuinfo_uarch_unknown;
  return design->uarch == cpuinfo_uarch_cortex_a55 && variant(midr) == 0 && design->implementer == 'A'
             ? cpuinfo_uarch_cortex_a55r0
             : design->uarch;
}

bool has_dot(uint32_t midr) {
  const Design* const design = find_design(midr);
  return design != nullptr && variant(midr) >= design->first_with_dot;
}

// Reads integers from files in a CPU's sysfs folder.
class CpuFiles {
 public:
  CpuFiles(const char* folder, size_t cpu) : folder_(folder), cpu_(cpu) {}

  // Hexadecimal with the prefix 0x; 0: unknown.
  uint64_t number(const char* file, char* unit = nullptr) const {
    char text[512];
    const int length = std::snprintf(text, sizeof text, "%s/cpu%zu/%s", folder_, cpu_, file);
    const int opened = static_cast<size_t>(length) < sizeof text ? open(text, O_RDONLY | O_CLOEXEC) : -1;
    if (opened < 0) return 0;
    const ssize_t size = read(opened, text, sizeof text - 1);
    close(opened);
    text[std::max<ssize_t>(size, 0)] = '\0';
    char* end = text;
    const uint64_t value = std::strtoull(text, &end, 0);
    if (unit != nullptr) *unit = *end;
    return value;
  }

  // Size of the L2 cache in bytes; 0: unknown.
  uint32_t l2_bytes() const {
    for (int index = 0; index < 5; ++index) {
      char file[32], unit = '\0';
      std::snprintf(file, sizeof file, "cache/index%d/level", index);
      if (number(file) != 2) continue;
      std::snprintf(file, sizeof file, "cache/index%d/size", index);
      const uint64_t size = number(file, &unit);
      return static_cast<uint32_t>(std::min<uint64_t>(size, 1 << 20) << (unit == 'K' ? 10 : 0));
    }
    return 0;
  }

 private:
  const char* folder_;
  size_t cpu_;
};

bool bigger(const CoreKinds::Kind& kind, const CoreKinds::Kind& other) {
  const bool slow = executes_in_order(kind.uarch), other_slow = executes_in_order(other.uarch);
  return slow != other_slow ? other_slow : kind.kilohertz > other.kilohertz;
}

}  // namespace

CoreKinds::CoreKinds(const char* folder, const char* list, size_t cpus) {
  cpus = std::min(cpus, kMaxCpus);
  bool known = false;
  for (size_t cpu = 0; cpu < cpus; ++cpu) {
    midrs_[cpu] = static_cast<uint32_t>(CpuFiles(folder, cpu).number("regs/identification/midr_el1"));
    known = known || midrs_[cpu] != 0;
  }
  if (!known) read_list(list, cpus);
  for (size_t cpu = 0; cpu < cpus; ++cpu) {
    if (midrs_[cpu] == 0) continue;  // offline
    const CpuFiles files(folder, cpu);
    l2_bytes_ = std::max(l2_bytes_, files.l2_bytes());
    add(midrs_[cpu], static_cast<uint32_t>(files.number("cpufreq/cpuinfo_max_freq")));
    multiply_bytes_ = multiply_bytes_ && has_dot(midrs_[cpu]);
  }
  multiply_bytes_ = multiply_bytes_ && count_ > 0;
  if (count_ == 0) count_ = 1;
  for (uint32_t i = 1; i < count_; ++i)
    for (uint32_t j = i; j > 0 && bigger(kinds_[j], kinds_[j - 1]); --j) std::swap(kinds_[j], kinds_[j - 1]);
  for (size_t cpu = 0; cpu < cpus; ++cpu)
    for (uint32_t i = 0; i < count_; ++i)
      if (midrs_[cpu] != 0 && kinds_[i].uarch == uarch_of(midrs_[cpu])) kind_of_[cpu] = static_cast<uint8_t>(i + 1);
}

void CoreKinds::add(uint32_t midr, uint32_t kilohertz) {
  const cpuinfo_uarch uarch = uarch_of(midr);
  uint32_t i = 0;
  while (i < count_ && kinds_[i].uarch != uarch) ++i;
  if (i == kMaxKinds) return;
  if (i == count_) kinds_[count_++] = {uarch, midr, 0};
  kinds_[i].kilohertz = std::max(kinds_[i].kilohertz, kilohertz);
}

// For kernels before 4.7. Some list only one core, which then stands for all.
void CoreKinds::read_list(const char* list, size_t cpus) {
  std::FILE* const file = std::fopen(list, "re");
  if (file == nullptr) return;
  char line[128];
  unsigned cpu = 0, value = 0;
  uint32_t midr = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "processor : %u", &cpu) == 1) continue;
    if (std::sscanf(line, "CPU implementer : %x", &value) == 1) midr = (value & 0xff) << 24 | 0xf0000;
    if (std::sscanf(line, "CPU variant : %x", &value) == 1) midr |= (value & 0xf) << 20;
    if (std::sscanf(line, "CPU part : %x", &value) == 1) midr |= (value & 0xfff) << 4;
    if (std::sscanf(line, "CPU revision : %u", &value) == 1 && cpu < cpus) midrs_[cpu] = midr | (value & 0xf);
  }
  std::fclose(file);
  for (size_t i = 0; i < cpus; ++i)
    if (midrs_[i] == 0) midrs_[i] = midr;
}

}  // namespace ferry
