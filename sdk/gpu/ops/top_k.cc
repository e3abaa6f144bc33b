#include "sdk/gpu/lowering/gather_indices.h"
#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {

// Indices are stored as floats of the same value.
Status lower_top_k(const Problem& problem, int, Lowering* out) {
  constexpr uint32_t kInvocations = 64, kRoundsOfShared = 7;
  const fbs::TopK& p = *problem.op.params_as_TopK();
  const Rows rows = rows_of(problem.inputs[0]), best = rows_of(problem.output);
  if (uint64_t{best.channels} * (rows.channels / kInvocations + 1 + kRoundsOfShared) > kMaxRounds)
    return unsupported("%u of %u", best.channels, rows.channels);
  FERRY_TRY(check_indices(problem));
  Call call{.kernel = Kernel::TopK,
            .groups = spread(rows.rows, 1, problem.limits),
            .push = {rows.rows, rows.channels, rows.quads(), best.channels, best.quads(), word(p.smallest() ? -1 : 1),
                     word(p.later() ? 1 : -1)}};
  out->add(call);
  if (problem.op.outputs()->size() == 1) return {};
  Operand indices = Operand::value(problem.output_tensor), values = Operand::value(problem.op.outputs()->Get(1));
  indices.bytes = values.bytes = stored_bytes(problem.output, problem.storage);
  add_gather(rows, best, indices, values, out);
  return {};
}

}  // namespace ferry::gpu
