#include "sdk/gpu/gather.h"
#include "sdk/gpu/lowerings.h"

namespace ferry::gpu {

Status lower_transpose(const Problem& problem, int, Lowering* out) {
  std::vector<GatherDim> dims;
  for (int from : *problem.op.params_as_Transpose()->perm())
    dims.push_back({.size = problem.inputs[0][from], .stride = stored_stride(problem.inputs[0], from)});
  return add_gather(std::move(dims), 0, 0, out);
}

}  // namespace ferry::gpu
