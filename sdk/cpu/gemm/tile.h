// The unit of work of matrix product kernels: a register tile of some rows by a panel of outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ferry::cpu::tile {

// Unit: what addresses count, float, or std::byte for kernels that also accept float16. Strides are in elements.
template <typename Unit>
struct TileOf {
  const Unit* x;  // rows, `x_stride` apart
  size_t x_stride, inputs;
  // A row consists of `parts` parts of `inputs` elements, which lie `part_step` apart.
  size_t parts, part_step;
  const Unit* start;  // initial values of the sums, `start_stride` apart per row
  size_t start_stride;
  const Unit* weights;
  Unit* y;
  size_t y_stride, columns;  // columns: how many of the panel's columns y has
  float low, high;
  // Kernels that add a residual (kAdds): its distance from y in bytes; 0: none.
  uintptr_t added;
  size_t added_up;  // float16 kernels: products that are accumulated in float16
  size_t blocks;    // blocks of the kernel's number of rows
  // consecutive panels of kColumns columns; elements from a panel to the next of the packed weights
  size_t panels, panel_size;
  // Kernels that prefetch (kFetches): the data to load into the L2 cache, `next_step` bytes per input.
  const char* next;
  size_t next_step;
};

// Splits `rows` rows into blocks of `block` rows and calls compute(tile, height), where `height` is a multiple of
// `block` or the remainder. If tile.columns < `width` (the columns of the weights, at most kColumns), the tile gets
// buffers with room for all columns.
template <size_t kMaximumBytes, size_t kColumns, typename Compute>
void for_whole_columns(const TileOf<std::byte>& tile, size_t rows, size_t width, size_t block, size_t element_bytes,
                       const Compute& compute) {
  const bool all = tile.columns == width;
  alignas(16) std::byte start[kMaximumBytes], y[kMaximumBytes];  // columns beyond y's belong to others
  const size_t bytes = tile.columns * element_bytes, row_bytes = kColumns * element_bytes;
  TileOf<std::byte> next = tile;
  for (size_t height; rows > 0; rows -= height) {
    height = rows < block ? rows : all ? rows / block * block : block;
    TileOf<std::byte> some = next;
    some.blocks = std::max<size_t>(height / block, 1);
    if (!all && tile.start_stride != 0) {  // not the bias, which is as wide as the weights
      for (size_t i = 0; i < height; ++i) {
        std::memset(start + i * row_bytes, 0, row_bytes);
        std::memcpy(start + i * row_bytes, next.start + i * tile.start_stride * element_bytes, bytes);
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
      std::memcpy(next.y + i * tile.y_stride * element_bytes, y + i * row_bytes, bytes);
    next.x += height * tile.x_stride * element_bytes;
    next.start += height * tile.start_stride * element_bytes;
    next.y += height * tile.y_stride * element_bytes;
  }
}

}  // namespace ferry::cpu::tile
