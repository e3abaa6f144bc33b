#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {

void add_rows(const Rows& rows, uint32_t first, const Operand& input, const Operand& output, Lowering* out) {
  const Problem& problem = out->problem();
  out->add({.kernel = Kernel::Concat,
            .groups = spread(rows.total(), 64, problem.limits),
            .push = {rows.rows, rows.channels, rows.quads(), rows.quads(), 0, rows.quads(), rows.rows, 0, first},
            .output = output,
            .input = input,
            .written = rows.total() * quad_bytes(problem.storage)});
}

// New rows follow those of the state. All dimensions before the axis are 1.
Status lower_append(const Problem& problem, int, Lowering* out) {
  const Rows rows = rows_of(problem.inputs[0]), all = rows_of(problem.output);
  if (rows.channels != all.channels) return unsupported("append along the last dimension");
  if (problem.is_constant[0]) return unsupported("append of a constant");
  add_rows(rows, all.rows - rows.rows, {}, {}, out);
  return {};
}

}  // namespace ferry::gpu
