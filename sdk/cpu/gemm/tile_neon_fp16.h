// The tile of a float16 matrix product on arm64, for kernel_neon.h: 7 rows by 16 columns, since map widths are often 7
// times a power of two. 14 of the 32 registers accumulate.
#pragma once

#include "sdk/cpu/gemm/tile.h"

namespace ferry::cpu::tile {

constexpr size_t kRowsOfFloat16 = 7;
// Products that are accumulated in float16; fewer for a single row, which is bound by loading weights.
constexpr size_t kFloat16sAddedUp = 32, kFloat16sOfOneRow = 8;

// `rows`: any number; `width`: columns of the packed weights, 16 or 8. float16 accumulation exceeds the error bound
// (docs/parity.md) after a few hundred products: tile.added_up products are accumulated in float16, their sums in
// float32. The sums of a row do not depend on the other rows. Requires CpuFeatures::float16.
void multiply_float16s(const TileOf<std::byte>& tile, size_t rows, size_t width);

}  // namespace ferry::cpu::tile
