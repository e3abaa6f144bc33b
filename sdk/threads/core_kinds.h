// The kinds of cores of an arm64 machine: from each core's MIDR_EL1 in sysfs, or from /proc/cpuinfo on kernels without
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sdk/threads/cpuinfo.h"

namespace ferry {

class CoreKinds {
 public:
  static constexpr size_t kMaxKinds = 8;

  struct Kind {
    cpuinfo_uarch uarch;
    uint32_t midr;       // of the first such core
    uint32_t kilohertz;  // maximum of these cores; 0: unknown
  };

  // For `cpus` CPUs; `folder` is /sys/devices/system/cpu, `list` is /proc/cpuinfo, or test data in their format.
  CoreKinds(const char* folder, const char* list, size_t cpus);

  // At least one, which may be unknown. The big cores' kind is first, because weights are packed for them.
  std::span<const Kind> kinds() const { return {kinds_.data(), count_}; }
  // The index of a CPU's kind; `otherwise` if unknown.
  uint32_t kind_of(size_t cpu, uint32_t otherwise) const {
    return cpu < kMaxCpus && kind_of_[cpu] != 0 ? kind_of_[cpu] - 1u : otherwise;
  }
  // The maximum L2 cache in bytes; 0: unknown.
  uint32_t l2_bytes() const { return l2_bytes_; }
  // Whether all cores are of designs with byte multiplication (SDOT), which old kernels do not report.
  bool multiply_bytes() const { return multiply_bytes_; }

 private:
  static constexpr size_t kMaxCpus = 1024;

  void add(uint32_t midr, uint32_t kilohertz);
  void read_list(const char* list, size_t cpus);

  std::array<uint32_t, kMaxCpus> midrs_{};   // per CPU; 0: unknown
  std::array<uint8_t, kMaxCpus> kind_of_{};  // per CPU: index of its kind plus 1; 0: unknown
  std::array<Kind, kMaxKinds> kinds_{};
  uint32_t count_ = 0, l2_bytes_ = 0;
  bool multiply_bytes_ = true;
};

}  // namespace ferry
