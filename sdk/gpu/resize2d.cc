#include "sdk/gpu/lowerings.h"

namespace ferry::gpu {

Status lower_resize2d(const Problem& problem, int, Lowering* out) {
  const fbs::Resize2d& p = *problem.op.params_as_Resize2d();
  if (p.kind() == fbs::ResizeKind::Bicubic || p.align_corners() || p.height() > 0 || p.width() > 0)
    return unsupported("resizing by other than whole factors");
  const Shape& in = problem.inputs[0];
  const bool bilinear = p.kind() == fbs::ResizeKind::Bilinear;
  const auto word = [](int32_t value) { return static_cast<uint32_t>(value); };
  return out->add_with_epilogue({.kernel = Kernel::Resize2d,
                                 .groups = spread(rows_of(problem.output).total(), 64, problem.limits),
                                 .constants = {bilinear ? 1u : 0u},
                                 .push = {word(in[0]), word(in[1]), word(in[2]), word(p.scale_h()), word(p.scale_w())},
                                 .flops = static_cast<uint64_t>(problem.output.elements()) * (bilinear ? 8 : 0)});
}

}  // namespace ferry::gpu
