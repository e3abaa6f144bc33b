// Which packed weights this library's kernels can read on this CPU.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/cpu/features.h"
#include "sdk/status.h"

namespace ferry::cpu {

struct Fingerprint {
  uint64_t value = 0;
  std::string description;  // for people: "x86-64 avx512f"
};

// Follows from the library's version, the CPU features that choose our own kernels, and from what XNNPACK makes here of
// a few known weights: what it chooses by need not be known, and CPUs for which it chooses alike share packed files.
Status fingerprint(const CpuFeatures& cpu, Fingerprint* out);

}  // namespace ferry::cpu
