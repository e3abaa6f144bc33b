// What the kernels of matrix products compute at once: a tile of a few rows by a slab of outputs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ferry::cpu::tile {

struct Tile {
  const float* x;  // rows, `x_stride` apart
  size_t x_stride, inputs;
  // A row is that many parts of `inputs` each, so far apart.
  size_t parts, part_step;
  const float* start;  // what products are added to: for each row, `start_stride` apart
  size_t start_stride;
  const float* weights;
  float* y;
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

}  // namespace ferry::cpu::tile
