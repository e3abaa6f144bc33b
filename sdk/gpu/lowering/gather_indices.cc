#include "sdk/gpu/lowering/gather_indices.h"

namespace ferry::gpu {

Status check_indices(const Problem& problem) {
  const uint32_t length = rows_of(problem.inputs[0]).channels;
  const bool float16s = problem.storage == Storage::Float16;
  if (length <= (float16s ? kIntegersInFloat16 : kIntegersInFloats)) return {};
  return unsupported("rows of %u elements: %s cannot represent their indices", length,
                     float16s ? "float16" : "float32");
}

Status check_index_rows(const Problem& problem, int axis) {
  const Shape &x = problem.inputs[0], &indices = problem.inputs[1];
  if (axis != x.rank - 1) return unsupported("indices along another dimension than the last");
  if (rows_of(x).rows != rows_of(indices).rows) return unsupported("fewer rows of indices than of elements");
  if (problem.is_constant[1]) return unsupported("constant indices");
  return check_indices(problem);
}

void add_gather(const Rows& rows, const Rows& chosen, const Operand& indices, const Operand& output, Lowering* out) {
  out->add({.kernel = Kernel::Gather,
            .groups = spread(chosen.total(), 64, out->problem().limits),
            .push = {rows.rows, rows.channels, rows.quads(), chosen.channels, chosen.quads()},
            .output = output,
            .operand = indices});
}

}  // namespace ferry::gpu
