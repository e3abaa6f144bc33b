// What the kernels of matrix products compute at once: a tile of a few rows by a panel of outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ferry::cpu::tile {

// Unit: what addresses are counted in, floats, or bytes where a kernel takes halves, too. Strides are in numbers.
template <typename Unit>
struct TileOf {
  const Unit* x;  // rows, `x_stride` apart
  size_t x_stride, inputs;
  // A row is that many parts of `inputs` each, so far apart.
  size_t parts, part_step;
  const Unit* start;  // what products are added to: for each row, `start_stride` apart
  size_t start_stride;
  const Unit* weights;
  Unit* y;
  size_t y_stride, columns;  // columns: how many of the panel's y has
  float low, high;
  // Of kernels that add a residual (kAdds): where it lies beside y, so many bytes further on; 0: there is none.
  uintptr_t added;
  size_t added_up;            // of kernels of halves: products that are added up in half precision
  size_t blocks;              // of as many rows as the kernel computes
  size_t panels, panel_size;  // one after another, of kColumns columns each; from one to the next of packed weights
  // Of kernels that fetch ahead (kFetches): what the L2 cache takes meanwhile, `next_step` bytes for each input.
  const char* next;
  size_t next_step;
};

// Of kernels that take blocks of `block` rows: calls compute(tile, height) for `rows` rows one after another, of which
// `height` are some blocks or what is left, with places for all columns of the weights, `width`, at most kColumns.
template <size_t kMaximumBytes, size_t kColumns, typename Compute>
void for_whole_columns(const TileOf<std::byte>& tile, size_t rows, size_t width, size_t block, size_t number_bytes,
                       const Compute& compute) {
  const bool all = tile.columns == width;
  alignas(16) std::byte start[kMaximumBytes], y[kMaximumBytes];  // y's last columns are another's
  const size_t bytes = tile.columns * number_bytes, row_bytes = kColumns * number_bytes;
  TileOf<std::byte> next = tile;
  for (size_t height; rows > 0; rows -= height) {
    height = rows < block ? rows : all ? rows / block * block : block;
    TileOf<std::byte> some = next;
    some.blocks = std::max<size_t>(height / block, 1);
    if (!all && tile.start_stride != 0) {  // not the bias, which is as wide as the weights
      for (size_t i = 0; i < height; ++i) {
        std::memset(start + i * row_bytes, 0, row_bytes);
        std::memcpy(start + i * row_bytes, next.start + i * tile.start_stride * number_bytes, bytes);
      }
      some.start = start;
      some.start_stride = kColumns;
    }
    if (!all) {
      some.y = y;
      some.y_stride = kColumns;
    }
    compute(some, height);
    for (size_t i = 0; !all && i < height; ++i)
      std::memcpy(next.y + i * tile.y_stride * number_bytes, y + i * row_bytes, bytes);
    next.x += height * tile.x_stride * number_bytes;
    next.start += height * tile.start_stride * number_bytes;
    next.y += height * tile.y_stride * number_bytes;
  }
}

}  // namespace ferry::cpu::tile
