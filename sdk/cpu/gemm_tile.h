// What the kernels of matrix products compute at once: a tile of a few rows by a slab of outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sdk/cpu/half.h"

namespace ferry::cpu::tile {

// Number: float or Half.
template <typename Number>
struct TileOf {
  const Number* x;  // rows, `x_stride` apart
  size_t x_stride, inputs;
  // A row is that many parts of `inputs` each, so far apart.
  size_t parts, part_step;
  const Number* start;  // what products are added to: for each row, `start_stride` apart
  size_t start_stride;
  const Number* weights;
  Number* y;
  size_t y_stride, columns;  // columns: how many of the slab's y has
  float low, high;
  // Of kernels that add a residual (kAdds): where it lies beside y, so many bytes further on; 0: there is none.
  uintptr_t added;
  size_t blocks;            // of kRows rows, or a single one of fewer: of kernels that take many (kRowsAtOnce)
  size_t slabs, slab_size;  // one after another, of kColumns columns each; from one to the next of packed weights
  // Of kernels that fetch ahead (kFetches): what the L2 cache takes meanwhile, `next_step` bytes for each input.
  const char* next;
  size_t next_step;
};
using Tile = TileOf<float>;

// Of kernels that take blocks of kRows rows: calls compute(tile, height) for `rows` rows one after another, of which
// `height` are some blocks or what is left, with places for all columns of the weights, `width`, at most kColumns.
template <size_t kRows, size_t kColumns, typename Number, typename Compute>
void for_whole_columns(const TileOf<Number>& tile, size_t rows, size_t width, const Compute& compute) {
  const bool all = tile.columns == width;
  Number start[kRows * kColumns], y[kRows * kColumns];  // y's last columns are another's
  TileOf<Number> next = tile;
  for (size_t height; rows > 0; rows -= height) {
    height = rows < kRows ? rows : all ? rows / kRows * kRows : kRows;
    TileOf<Number> some = next;
    some.blocks = std::max<size_t>(height / kRows, 1);
    if (!all && tile.start_stride != 0) {  // not the bias, which is as wide as the weights
      for (size_t i = 0; i < height; ++i) {
        std::fill_n(start + i * kColumns, kColumns, Number(0));
        std::copy_n(next.start + i * tile.start_stride, tile.columns, start + i * kColumns);
      }
      some.start = start;
      some.start_stride = kColumns;
    }
    if (!all) {
      some.y = y;
      some.y_stride = kColumns;
    }
    compute(some, height);
    for (size_t i = 0; !all && i < height; ++i) std::copy_n(y + i * kColumns, tile.columns, next.y + i * tile.y_stride);
    next.x += height * tile.x_stride;
    next.start += height * tile.start_stride;
    next.y += height * tile.y_stride;
  }
}

}  // namespace ferry::cpu::tile
