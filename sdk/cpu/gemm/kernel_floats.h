// Common parts of the float32-only kernels (x86), for gemm_op.h.
#pragma once

#include <array>
#include <cstddef>

#include "sdk/cpu/elementwise/unary.h"
#include "sdk/cpu/gemm/gemm.h"
#include "sdk/cpu/gemm/tile.h"

namespace ferry::cpu::tile {

class Floats {
 public:
  using Unit = float;
  using Tile = TileOf<Unit>;
  explicit Floats(const Gemm&) {}
  static constexpr size_t kDepth = 768;  // KC: inputs per block, which stay in the L1 cache for a tile

  static constexpr size_t depth() { return kDepth; }
  static constexpr size_t element_bytes() { return sizeof(float); }
  template <typename Count>
  static constexpr Count units(Count elements) {
    return elements;
  }
  static constexpr size_t added_up(size_t) { return 0; }
  static constexpr bool adds_by_blocks() { return false; }
  static void put(float* to, size_t index, float value) { to[index] = value; }
  static void apply(const Elementwise& function, float* y, size_t stride, size_t rows, size_t columns) {
    for (; rows > 0; --rows, y += stride) function(y, y, columns);
  }

 protected:
  using Compute = void (*)(const Tile&);

  // Splits `rows` into as few tiles as possible, of similar height. kernels: by height; each computes tile.blocks
  // tiles.
  template <size_t kRows>
  static void multiply_alike(Tile& tile, size_t rows, const std::array<Compute, kRows>& kernels) {
    const size_t tiles = (rows + kRows - 1) / kRows, height = rows / tiles, taller = rows % tiles;
    if (taller > 0) {
      const size_t count = taller * (height + 1);
      tile.blocks = taller;
      kernels[height](tile);
      tile.x += count * tile.x_stride;
      tile.start += count * tile.start_stride;
      tile.y += count * tile.y_stride;
      tile.next += taller * tile.parts * tile.inputs * tile.next_step;
    }
    tile.blocks = tiles - taller;
    kernels[height - 1](tile);
  }
};

}  // namespace ferry::cpu::tile
