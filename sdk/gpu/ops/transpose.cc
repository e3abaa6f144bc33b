#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/strided_copy.h"

namespace ferry::gpu {

Status lower_transpose(const Problem& problem, int, Lowering* out) {
  std::vector<CopiedDim> dims;
  for (int from : *problem.op.params_as_Transpose()->perm())
    dims.push_back({.size = problem.inputs[0][from], .stride = stored_stride(problem.inputs[0], from)});
  return add_strided_copy(std::move(dims), 0, 0, out);
}

}  // namespace ferry::gpu
