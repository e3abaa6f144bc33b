#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/places.h"

namespace ferry::gpu {

Status lower_gather(const Problem& problem, int, Lowering* out) {
  FERRY_TRY(check_rows_of_places(problem, problem.op.params_as_Gather()->axis()));
  add_gather(rows_of(problem.inputs[0]), rows_of(problem.output), out->input(1), {}, out);
  return {};
}

}  // namespace ferry::gpu
