// The kernels of shaders/*.comp as SPIR-V, embedded in the library in one compressed piece.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sdk/gpu/kernels.h"  // generated: enum class Kernel, one enumerator a file, and kernel_name()

namespace ferry::gpu {

// How a quad (four channels) is stored in buffers of activations and weights.
enum class Storage : uint8_t { Float32, Float16 };
inline constexpr uint64_t quad_bytes(Storage storage) { return storage == Storage::Float16 ? 8 : 16; }

class Shaders {
 public:
  // Decompresses the embedded modules.
  void load();
  // Kernels with float16 arithmetic have no code for Float32.
  std::span<const uint32_t> code(Kernel kernel, Storage storage) const;
  // Replaces a kernel's code, for tests.
  void replace(Kernel kernel, Storage storage, std::vector<uint32_t> code);

 private:
  std::vector<std::vector<uint32_t>> modules_;
};

}  // namespace ferry::gpu
