#include "sdk/gpu/lowering/gather_indices.h"
#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {

Status lower_gather(const Problem& problem, int, Lowering* out) {
  FERRY_TRY(check_index_rows(problem, problem.op.params_as_Gather()->axis()));
  add_gather(rows_of(problem.inputs[0]), rows_of(problem.output), out->input(1), {}, out);
  return {};
}

}  // namespace ferry::gpu
