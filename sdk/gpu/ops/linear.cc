// linear: a matrix product.
#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/product.h"

namespace ferry::gpu {

static_assert(kLinearAlternatives == 1 + kProductAlternatives);

// Alternative 0: the first that fits and has enough invocations. Others: as listed.
Status lower_linear(const Problem& problem, int alternative, Lowering* out) {
  if (problem.is_constant[0]) return unsupported("linear: a constant input");
  const fbs::Linear& op = *problem.op.params_as_Linear();
  const Shape& weight = problem.inputs[1];
  const Product product{rows_of(problem.output).rows, static_cast<uint32_t>(weight[1]),
                        static_cast<uint32_t>(weight[0]), op.output_min(), op.output_max()};
  if (alternative > 0) return lower_product(problem, product, alternative - 1, 0, out);
  Status status;
  for (int i = 0; i < kProductAlternatives; ++i) {
    status = lower_product(problem, product, i, kEnoughInvocations, out);
    if (status.ok()) break;
  }
  return status;
}

}  // namespace ferry::gpu
