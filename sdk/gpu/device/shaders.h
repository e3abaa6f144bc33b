// The kernels of shaders/*.comp, as SPIR-V embedded in the library (compressed in one piece).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sdk/gpu/kernels.h"  // generated: enum class Kernel, one enumerator a file, and kernel_name()

namespace ferry::gpu {

// How a quad is stored in buffers of activations and weights.
enum class Storage : uint8_t { Float32, Float16 };
inline constexpr uint64_t quad_bytes(Storage storage) { return storage == Storage::Float16 ? 8 : 16; }

class Shaders {
 public:
  // Unpacks the library's.
  void load();
  // Kernels that multiply in halves have no code for Float32.
  std::span<const uint32_t> code(Kernel kernel, Storage storage) const;
  // Another body for a kernel.
  void replace(Kernel kernel, Storage storage, std::vector<uint32_t> code);

 private:
  std::vector<std::vector<uint32_t>> modules_;
};

}  // namespace ferry::gpu
