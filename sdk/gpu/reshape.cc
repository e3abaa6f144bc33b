#include "sdk/gpu/lowerings.h"

namespace ferry::gpu {

// To rows of another length; where the quads stay where they are, the partition makes a view of it.
Status lower_reshape(const Problem& problem, int, Lowering* out) {
  const Rows from = rows_of(problem.inputs[0]), to = rows_of(problem.output);
  out->add({.kernel = Kernel::Reshape,
            .groups = spread(to.total(), 64, problem.limits),
            .push = {to.rows, to.channels, to.quads(), from.channels, from.quads()}});
  return {};
}

}  // namespace ferry::gpu
