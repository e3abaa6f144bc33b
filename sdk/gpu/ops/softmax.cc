#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {
namespace {

constexpr uint32_t kSoftmaxInvocations = 64;

}  // namespace

// Subgroups first if the device has their arithmetic, otherwise shared memory.
Status lower_softmax(const Problem& problem, int alternative, Lowering* out) {
  const bool subgroups = alternative == 0;
  if (subgroups && !problem.limits.subgroup_arithmetic) return unsupported("the device has no subgroup arithmetic");
  const Rows rows = rows_of(problem.output);
  constexpr uint64_t kPasses = 3;  // over a row
  if (kPasses * ((rows.quads() + kSoftmaxInvocations - 1) / kSoftmaxInvocations) > kMaxRounds)
    return unsupported("rows too long");
  out->add({.kernel = subgroups ? Kernel::SoftmaxSubgroup : Kernel::Softmax,
            .workgroup = {kSoftmaxInvocations, 1, 1},
            .groups = spread(rows.rows, 1, problem.limits),
            .constants = {kSoftmaxInvocations},
            .push = {rows.rows, rows.channels, rows.quads()},
            .flops = static_cast<uint64_t>(problem.output.elements()) * 4});
  return {};
}

}  // namespace ferry::gpu
