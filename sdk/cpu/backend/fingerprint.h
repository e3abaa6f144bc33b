// Identifies the layouts of packed weights that this library reads on this CPU.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/cpu/backend/features.h"
#include "sdk/model/packed_file.h"
#include "sdk/status.h"

namespace ferry::cpu {

struct Fingerprint {
  uint64_t value = 0;
  std::string description;  // human-readable, for example "x86-64 avx512f"
};

// Hashes the library version, the CPU features that select our own kernels, and the bytes that XNNPACK packs from known
// weights. Probing XNNPACK avoids knowing its rules; CPUs for which it packs alike share packed files.
Status fingerprint(const CpuFeatures& cpu, Fingerprint* out);

// The target of this model's packed files on this CPU. XNNPACK must be initialized. Errors: FERRY_UNSUPPORTED as in
// PackedTarget::of().
Status packed_target(const Model& model, PackedTarget* out);

}  // namespace ferry::cpu
