#include <algorithm>

#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {

Status lower_pool2d(const Problem& problem, int, Lowering* out) {
  const fbs::Pool2d& p = *problem.op.params_as_Pool2d();
  const Shape& in = problem.inputs[0];
  const Shape& to = problem.output;
  if (p.kernel_h() > 0xffff || p.kernel_w() > 0xffff || p.stride_h() > 0xffff || p.stride_w() > 0xffff)
    return unsupported("a window or stride above 65535");
  const uint64_t window_h = static_cast<uint64_t>(std::min(p.kernel_h(), in[1]));
  const uint64_t window_w = static_cast<uint64_t>(std::min(p.kernel_w(), in[2]));
  if (window_h * (1 + window_w) > kMaxRounds) return unsupported("a window of too many cells");
  const Rows rows = rows_of(to);
  const Call call{.kernel = Kernel::Pool2d,
                  .groups = spread(rows.total(), 64, problem.limits),
                  .constants = {p.kind() == fbs::PoolKind::Average ? 1u : 0u, p.count_include_pad() ? 1u : 0u},
                  .push = {word(in[0]), word(in[1]), word(in[2]), word(to[1]), word(to[2]),
                           word(p.kernel_h() << 16 | p.kernel_w()), word(p.stride_h() << 16 | p.stride_w()),
                           word(p.pad_top()), word(p.pad_left()), word(p.pad_bottom()), word(p.pad_right())},
                  .flops = static_cast<uint64_t>(to.elements()) * word(p.kernel_h()) * word(p.kernel_w())};
  return out->add_with_epilogue(call);
}

}  // namespace ferry::gpu
