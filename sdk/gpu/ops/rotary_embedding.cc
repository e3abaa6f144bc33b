#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {

Status lower_rotary_embedding(const Problem& problem, int, Lowering* out) {
  const fbs::RotaryEmbedding& p = *problem.op.params_as_RotaryEmbedding();
  const Rows rows = rows_of(problem.output), table = rows_of(problem.inputs[1]);
  const uint32_t head = rows.channels / static_cast<uint32_t>(p.heads());
  out->add({.kernel = Kernel::RotaryEmbedding,
            .groups = spread(rows.total(), 64, problem.limits),
            .constants = {p.interleaved() ? 1u : 0u},
            .push = {rows.rows, rows.channels, rows.quads(), table.rows, head, table.quads()},
            .weights = out->input(1),
            .operand = out->input(2),
            .flops = uint64_t{rows.rows} * rows.channels * 3});
  return {};
}

}  // namespace ferry::gpu
