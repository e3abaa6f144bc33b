// unary, binary: an epilogue with nothing before it; binaries that broadcast otherwise have a kernel of their own.
#include "sdk/gpu/lowerings.h"

namespace ferry::gpu {

Status lower_elementwise(const Problem& problem, int, Lowering* out) {
  // The operator itself is the first step. Which side is carried: one that has the output's shape.
  for (unsigned side = 0; side < problem.inputs.size(); ++side) {
    Epilogue epilogue;
    if (problem.is_constant[side] ||
        !append(problem.op, side, problem.output, problem.inputs, problem.is_constant, &epilogue))
      continue;
    for (const EpilogueStep& step : problem.epilogue.steps)
      if (!epilogue.add(step)) return unsupported("more than %zu elementwise steps", kMaxEpilogueSteps);
    Problem whole = problem;
    whole.epilogue = std::move(epilogue);
    const Rows rows = rows_of(problem.output);
    Call call{.kernel = Kernel::Elementwise, .groups = spread(rows.total(), 64, problem.limits), .push = {rows.rows}};
    call.input = Operand::value(problem.input_tensor(side));
    call.input.bytes = stored_bytes(problem.output, problem.storage);
    return out->with(whole).add_with_epilogue(std::move(call));
  }
  return unsupported("%s: no input has the output's shape", "binary");
}

}  // namespace ferry::gpu
