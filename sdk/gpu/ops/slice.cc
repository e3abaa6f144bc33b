#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/strided_copy.h"
#include "sdk/operators/size_code.h"

namespace ferry::gpu {

Status lower_slice(const Problem& problem, int, Lowering* out) {
  std::vector<CopiedDim> dims;
  int64_t base = 0;
  for (int d = 0; d < problem.output.rank; ++d) {
    const int64_t stride = stored_stride(problem.inputs[0], d);
    dims.push_back({.size = problem.output[d], .stride = stride});
    base += slice_begin(*problem.op.params_as_Slice(), d, problem.inputs[0], problem.output[d]) * stride;
  }
  return add_strided_copy(std::move(dims), base, 0, out);
}

}  // namespace ferry::gpu
