#include "sdk/gpu/lowering/gather_indices.h"
#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {

Status lower_scatter(const Problem& problem, int, Lowering* out) {
  constexpr uint32_t kMaxIndices = 256;  // every invocation reads all indices of its row
  const fbs::Scatter& p = *problem.op.params_as_Scatter();
  FERRY_TRY(check_index_rows(problem, p.axis()));
  const Rows rows = rows_of(problem.output), indices = rows_of(problem.inputs[1]);
  if (indices.channels > kMaxIndices) return unsupported("%u indices in a row", indices.channels);
  out->add({.kernel = Kernel::Scatter,
            .groups = spread(rows.total(), 64, problem.limits),
            .constants = {static_cast<uint32_t>(p.kind())},
            .push = {rows.rows, rows.channels, rows.quads(), indices.channels, indices.quads()},
            .weights = out->input(2),
            .operand = out->input(1)});
  return {};
}

}  // namespace ferry::gpu
