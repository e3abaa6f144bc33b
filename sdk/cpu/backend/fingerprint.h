// Which packed weights this library's kernels can read on this CPU.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/cpu/backend/features.h"
#include "sdk/model/packed_file.h"
#include "sdk/status.h"

namespace ferry::cpu {

struct Fingerprint {
  uint64_t value = 0;
  std::string description;  // for people: "x86-64 avx512f"
};

// Follows from the library's version, the CPU features that choose our own kernels, and from what XNNPACK makes here of
// a few known weights: what it chooses by need not be known, and CPUs for which it chooses alike share packed files.
Status fingerprint(const CpuFeatures& cpu, Fingerprint* out);

// What packed files of this model are made for on this CPU. XNNPACK has been initialized. FERRY_UNSUPPORTED as
// PackedTarget::of().
Status packed_target(const Model& model, PackedTarget* out);

}  // namespace ferry::cpu
