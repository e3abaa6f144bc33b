// The tile of a matrix product of halves on arm64, for gemm_op.h: 7 rows, as maps are 7 times a power of two wide, by 16
// columns, of which 14 of the 32 registers add up.
#pragma once

#include <cstring>

#include "sdk/cpu/features.h"
#include "sdk/cpu/gemm_tile.h"

namespace ferry::cpu::tile {

// Sums of some hundred products are outside of the bounds of float16 (docs/parity.md) if they are added up in half
// precision: kTogether are, and what they give in float32. A row's sums are the same whatever rows are computed with it.
class NeonHalf {
 public:
  using Number = Half;
  static constexpr size_t kRows = 7, kColumns = 16, kNarrow = 8;
  static constexpr size_t kFewestRows = 1, kFewestOutputs = 1;  // there is no other kernel of halves
  static constexpr size_t kTogether = 32;
  static constexpr size_t kDepth = 768;  // inputs that are multiplied at once: the L1 cache holds them for a tile
  static constexpr size_t kSlabsAtOnce = SIZE_MAX, kRowsAtOnce = SIZE_MAX;
  static constexpr size_t kSlabBytes = 24 << 10;  // of slabs that stay in the L1 cache while rows pass
  static constexpr bool kFetches = false, kAdds = true;
  static constexpr int64_t kReadsInPlace = 1;               // pixels of a row, from which on windows are not copied
  static constexpr const char* kLayout = "gemm_neon_half";  // of packed weights, and its version
  static constexpr uint32_t kLayoutVersion = 1;

  static bool runs_here(const CpuFeatures& cpu) { return cpu.half; }

  // As many rows as there are, and as many columns as packed weights have there, kColumns or kNarrow. Compiled for the
  // instructions of ARMv8.2 (gemm_kernel_neon_half.cc).
  static void multiply(const TileOf<Half>& tile, size_t rows, size_t width);

  // `rows` times `count` numbers.
  static void copy(const Half* from, size_t from_step, size_t rows, size_t count, Half* to, size_t to_step) {
    for (; rows > 0; --rows, from += from_step, to += to_step) std::memcpy(to, from, count * sizeof(Half));
  }
};

}  // namespace ferry::cpu::tile
