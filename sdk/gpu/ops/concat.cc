#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {

// One dispatch per input.
Status lower_concat(const Problem& problem, int, Lowering* out) {
  const int axis = problem.op.params_as_Concat()->axis();
  const Shape& to = problem.output;
  const bool channels = axis == to.rank - 1;
  uint32_t inner = 1;  // rows per coordinate of the axis
  for (int d = axis + 1; d + 1 < to.rank; ++d) inner *= static_cast<uint32_t>(to[d]);
  uint32_t begin = 0;  // offset of the part along the axis
  for (unsigned i = 0; i < problem.inputs.size(); ++i) {
    const Rows rows = rows_of(problem.inputs[i]);
    const uint32_t length = static_cast<uint32_t>(problem.inputs[i][axis]);
    const uint32_t first = channels ? begin : 0;
    const uint32_t part_quads = (first + rows.channels + 3) / 4 - first / 4;
    Call call{.kernel = Kernel::Concat,
              .groups = spread(uint64_t{rows.rows} * part_quads, 64, problem.limits),
              .push = {rows.rows, rows.channels, rows.quads(), rows_of(to).quads(), first, part_quads}};
    if (channels) {
      call.push.append({1, 1, 0});
    } else {
      call.push.append({inner * length, inner * static_cast<uint32_t>(to[axis]), inner * begin});
    }
    call.input = out->input(i);
    call.written = uint64_t{rows.rows} * part_quads * quad_bytes(problem.storage);
    out->add(call);
    begin += length;
  }
  return {};
}

}  // namespace ferry::gpu
