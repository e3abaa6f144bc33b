// The tile of a matrix product of halves on arm64, for kernel_neon.h: 7 rows, as maps are 7 times a power of two
// wide, by 16 columns, of which 14 of the 32 registers add up.
#pragma once

#include "sdk/cpu/gemm/tile.h"

namespace ferry::cpu::tile {

constexpr size_t kRowsOfFloat16 = 7;
// Products that are added up in half precision: of one row, whose weights take longer to come, fewer.
constexpr size_t kFloat16sAddedUp = 32, kFloat16sOfOneRow = 8;

// As many rows as there are, and as many columns as packed weights have there, 16 or 8. Sums of some hundred products
// are outside of the bounds of float16 (docs/parity.md) if they are added up in half precision: tile.added_up are, and
// what they give in float32. A row's sums are the same whatever rows are computed with it. Only for CPUs with
// CpuFeatures::half.
void multiply_float16s(const TileOf<std::byte>& tile, size_t rows, size_t width);

}  // namespace ferry::cpu::tile
