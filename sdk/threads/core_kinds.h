// The kinds of cores that an arm64 machine has, as the kernel tells: by each core's MIDR_EL1, and where it tells that
// nowhere, by a list of them.
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
    uint32_t kilohertz;  // of the fastest such core; 0: not told
  };

  // Of `cpus` CPUs; `folder` is /sys/devices/system/cpu, `list` is /proc/cpuinfo, or like them.
  CoreKinds(const char* folder, const char* list, size_t cpus);

  // At least one, which may be unknown; the big cores' first, since kernels are laid out for them.
  std::span<const Kind> kinds() const { return {kinds_.data(), count_}; }
  // The index of a CPU's kind; `otherwise` where it is not told.
  uint32_t kind_of(size_t cpu, uint32_t otherwise) const {
    return cpu < kMaxCpus && kind_of_[cpu] != 0 ? kind_of_[cpu] - 1u : otherwise;
  }
  // Of the largest L2 cache; 0: not told.
  uint32_t l2_bytes() const { return l2_bytes_; }
  // Whether all cores are of designs that multiply bytes (SDOT), which old kernels do not tell of them.
  bool multiply_bytes() const { return multiply_bytes_; }

 private:
  static constexpr size_t kMaxCpus = 1024;

  void add(uint32_t midr, uint32_t kilohertz);
  void read_list(const char* list, size_t cpus);

  std::array<uint32_t, kMaxCpus> midrs_{};   // of CPUs; 0: not told
  std::array<uint8_t, kMaxCpus> kind_of_{};  // 0: not told; else a kind's index and 1
  std::array<Kind, kMaxKinds> kinds_{};
  uint32_t count_ = 0, l2_bytes_ = 0;
  bool multiply_bytes_ = true;
};

}  // namespace ferry
