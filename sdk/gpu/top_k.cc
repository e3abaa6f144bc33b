#include "sdk/gpu/lowerings.h"

namespace ferry::gpu {

// Places are floats of the same value.
Status lower_top_k(const Problem& problem, int, Lowering* out) {
  constexpr uint32_t kInvocations = 64, kRoundsOfShared = 7;
  constexpr uint32_t kMaximumInHalves = 2048;  // up to which halves hold every place
  const fbs::TopK& p = *problem.op.params_as_TopK();
  const Rows rows = rows_of(problem.inputs[0]), best = rows_of(problem.output);
  if (uint64_t{best.channels} * (rows.channels / kInvocations + 1 + kRoundsOfShared) > kMaxRounds)
    return unsupported("%u of %u", best.channels, rows.channels);
  if (problem.storage == Storage::Half && rows.channels > kMaximumInHalves)
    return unsupported("rows of %u, whose places halves do not hold", rows.channels);
  Call call{.kernel = Kernel::TopK,
            .groups = spread(rows.rows, 1, problem.limits),
            .constants = {0},
            .push = {rows.rows, rows.channels, rows.quads(), best.channels, best.quads(), word(p.smallest() ? -1 : 1),
                     word(p.later() ? 1 : -1)}};
  out->add(call);
  if (problem.op.outputs()->size() == 1) return {};
  call.constants = {1};
  call.output = Operand::value(problem.op.outputs()->Get(1));
  call.operand = Operand::value(problem.output_tensor);
  call.output.bytes = call.operand.bytes = stored_bytes(problem.output, problem.storage);
  out->add(call);
  return {};
}

}  // namespace ferry::gpu
