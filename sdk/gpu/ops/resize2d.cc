#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {
namespace {

// Maps an output coordinate to the input: factor, offset and divisor of resize2d.comp.
std::array<int64_t, 3> places(const fbs::Resize2d& p, int64_t from, int64_t to) {
  if (p.kind() == fbs::ResizeKind::Nearest) return {from, 0, to};
  if (!p.align_corners()) return {2 * from, from - to, 2 * to};
  if (to == 1) return {0, 0, 1};
  return {from - 1, 0, to - 1};
}

}  // namespace

Status lower_resize2d(const Problem& problem, int, Lowering* out) {
  const fbs::Resize2d& p = *problem.op.params_as_Resize2d();
  const Shape &in = problem.inputs[0], &to = problem.output;
  const uint32_t cells = p.kind() == fbs::ResizeKind::Nearest ? 1 : p.kind() == fbs::ResizeKind::Bilinear ? 2 : 4;
  Call call{.kernel = Kernel::Resize2d,
            .groups = spread(rows_of(to).total(), 64, problem.limits),
            .constants = {cells},
            .push = {word(in[0]), word(in[1]), word(in[2]), word(to[1]), word(to[2])},
            .flops = static_cast<uint64_t>(to.elements()) * 2 * cells * cells};
  for (int d : {1, 2}) {
    const std::array<int64_t, 3> place = places(p, in[d], to[d]);
    if (place[0] * to[d] + place[2] > INT32_MAX) return unsupported("sizes whose product exceeds 2^30");
    for (int64_t number : place) call.push.append(word(number));
  }
  return out->add_with_epilogue(std::move(call));
}

}  // namespace ferry::gpu
