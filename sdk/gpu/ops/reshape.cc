#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/strided_copy.h"

namespace ferry::gpu {

void add_reshape(const Rows& from, const Rows& to, const Operand& input, const Operand& output, Lowering* out) {
  out->add({.kernel = Kernel::Reshape,
            .groups = spread(to.total(), 64, out->problem().limits),
            .push = {to.rows, to.channels, to.quads(), from.channels, from.quads()},
            .output = output,
            .input = input});
}

// Copies to rows of another length. If the quads stay, the partition makes a view instead.
Status lower_reshape(const Problem& problem, int, Lowering* out) {
  add_reshape(rows_of(problem.inputs[0]), rows_of(problem.output), {}, {}, out);
  return {};
}

}  // namespace ferry::gpu
