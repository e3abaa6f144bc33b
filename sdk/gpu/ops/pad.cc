#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/strided_copy.h"

namespace ferry::gpu {

Status lower_pad(const Problem& problem, int, Lowering* out) {
  const fbs::Pad& p = *problem.op.params_as_Pad();
  std::vector<CopiedDim> dims;
  for (int d = 0; d < problem.output.rank; ++d) {
    dims.push_back({.size = problem.output[d],
                    .stride = stored_stride(problem.inputs[0], d),
                    .before = p.before()->Get(static_cast<unsigned>(d)),
                    .limit = problem.inputs[0][d]});
  }
  return add_strided_copy(std::move(dims), 0, p.value(), out);
}

}  // namespace ferry::gpu
