// How a matrix product is cut where a slab's weights stay in the L1 cache while rows pass (kernel_neon.h): so that
// few bytes come from beyond the L2 cache. Pure arithmetic, for gemm_op.h and tests.
#pragma once

#include <algorithm>
#include <cstddef>

namespace ferry::cpu {

// Inputs are multiplied in turns of `depth`, which add to the outputs. Within a turn the slabs of a task pass one after
// another, `together` at a time, each over all rows of the task.
struct GemmWork {
  size_t groups, rows, inputs, outputs;  // outputs: of a group, whole slabs
  size_t slab;                           // outputs of a slab
  size_t depth, together, tile_rows;
  size_t l2_bytes, tasks;  // tasks: so many at least, if that does not make them tiny
  size_t number_bytes = sizeof(float);
};

struct GemmPlan {
  size_t rows, slabs;  // of a task
  bool streams;        // weights are read again for each task
};

inline GemmPlan plan_gemm(const GemmWork& w) {
  const auto parts = [](size_t whole, size_t part) { return (whole + part - 1) / part; };
  // Caches are no lists of what was used last, and others use them, too.
  const size_t budget = w.l2_bytes / 4 * 3;
  const size_t weights = w.inputs * w.outputs * w.number_bytes, inputs = w.rows * w.inputs * w.number_bytes;
  const size_t together = w.together * w.slab;
  // What passes before a turn's inputs are read again, a row of it.
  size_t row = (std::min(w.depth, w.inputs) + together) * w.number_bytes;
  size_t held = together * w.depth * w.number_bytes;
  const bool streams = weights > budget / 3 * 2;
  if (!streams) {  // they are read once, if they outlast a task
    row = (w.inputs + w.outputs) * w.number_bytes;
    held = weights;
  }
  const size_t fitting = held < budget ? (budget - held) / row : 0;
  size_t blocks = parts(w.rows, std::max(fitting, 4 * w.tile_rows)), panels = 1;
  const size_t slabs = parts(w.outputs, w.slab);
  // More tasks: with half the rows in each, weights are read twice as often, with half the slabs inputs are.
  while (w.groups * blocks * panels < w.tasks) {
    const bool rows_left = parts(w.rows, 2 * blocks) >= 2 * w.tile_rows, slabs_left = slabs >= 2 * panels;
    if (!rows_left && !slabs_left) break;
    const bool by_rows = !slabs_left || (rows_left && blocks * weights <= panels * inputs);
    (by_rows ? blocks : panels) *= 2;
  }
  return {parts(parts(w.rows, blocks), w.tile_rows) * w.tile_rows, parts(slabs, panels), streams};
}

}  // namespace ferry::cpu
