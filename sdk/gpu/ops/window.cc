#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {
namespace {

// A copy with wrap-around, no gather: elements shifted beyond an edge enter at the opposite one. `image`: the side that
// is not split into windows.
template <typename Params>
Status add_window(const Params& p, const Shape& image, bool reverse, Lowering* out) {
  const auto shift = [](int32_t by, int32_t size) { return word((by % size + size) % size); };
  const Rows rows = rows_of(out->problem().output);
  return out->add_with_epilogue(
      {.kernel = Kernel::Window,
       .groups = spread(rows.total(), 64, out->problem().limits),
       .constants = {reverse ? 1u : 0u},
       .push = {rows.rows, word(image[1]), word(image[2]), word(p.window_h()), word(p.window_w()),
                shift(p.shift_h(), image[1]), shift(p.shift_w(), image[2])}});
}

}  // namespace

Status lower_window_partition(const Problem& problem, int, Lowering* out) {
  return add_window(*problem.op.params_as_WindowPartition(), problem.inputs[0], false, out);
}

Status lower_window_reverse(const Problem& problem, int, Lowering* out) {
  return add_window(*problem.op.params_as_WindowReverse(), problem.output, true, out);
}

}  // namespace ferry::gpu
