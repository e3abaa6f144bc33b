// Plans how a matrix product is split if a panel's weights stay in the L1 cache while rows pass (kernel_neon.h). It
// minimizes the bytes read from beyond the L2 cache. Pure arithmetic, for gemm_op.h and tests.
#pragma once

#include <algorithm>
#include <cstddef>

namespace ferry::cpu {

// Inputs are multiplied in KC blocks of `depth`, which accumulate in the outputs. Within a KC block, the panels of a
// task pass one after another, `together` at a time, each over all rows of the task.
struct GemmWork {
  size_t groups, rows, inputs, outputs;  // outputs: per group, whole panels
  size_t nr;                             // outputs of a panel
  size_t depth, together, tile_rows;
  size_t l2_bytes, tasks;  // tasks: the minimum number, unless they become tiny
  size_t element_bytes = sizeof(float);
};

struct GemmPlan {
  size_t rows, panels;  // per task
  bool streams;         // weights are read again for each task
};

inline GemmPlan plan_gemm(const GemmWork& w) {
  const auto parts = [](size_t whole, size_t part) { return (whole + part - 1) / part; };
  // Caches are not strict LRU, and other data shares them.
  const size_t budget = w.l2_bytes / 4 * 3;
  const size_t weights = w.inputs * w.outputs * w.element_bytes, inputs = w.rows * w.inputs * w.element_bytes;
  const size_t together = w.together * w.nr;
  // Bytes per row that pass before the inputs of a KC block are read again.
  size_t row = (std::min(w.depth, w.inputs) + together) * w.element_bytes;
  size_t held = together * w.depth * w.element_bytes;
  const bool streams = weights > budget / 3 * 2;
  if (!streams) {  // weights are read once if they stay in the cache longer than a task
    row = (w.inputs + w.outputs) * w.element_bytes;
    held = weights;
  }
  const size_t fitting = held < budget ? (budget - held) / row : 0;
  size_t blocks = parts(w.rows, std::max(fitting, 4 * w.tile_rows)), nc_blocks = 1;
  const size_t panels = parts(w.outputs, w.nr);
  // More tasks: halving the rows doubles the reads of weights, halving the panels doubles the reads of inputs.
  while (w.groups * blocks * nc_blocks < w.tasks) {
    const bool rows_left = parts(w.rows, 2 * blocks) >= 2 * w.tile_rows, panels_left = panels >= 2 * nc_blocks;
    if (!rows_left && !panels_left) break;
    const bool by_rows = !panels_left || (rows_left && blocks * weights <= nc_blocks * inputs);
    (by_rows ? blocks : nc_blocks) *= 2;
  }
  return {parts(parts(w.rows, blocks), w.tile_rows) * w.tile_rows, parts(panels, nc_blocks), streams};
}

}  // namespace ferry::cpu
