// unary and binary: an epilogue without a kernel before it. Other broadcasts have a kernel of their own.
#include <array>

#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {
namespace {

// An operand of a broadcast as the kernel addresses it.
struct Side {
  std::array<uint32_t, 5> strides{};  // in rows, outermost first, of all dimensions but the last
  uint32_t quads = 0;                 // per row; 0: one element for the whole row
};

bool describe(const Shape& shape, const Shape& output, Side* side) {
  const Rows rows = rows_of(shape);
  if (rows.channels == static_cast<uint32_t>(output[output.rank - 1])) side->quads = rows.quads();
  if (side->quads > 0xffff) return false;
  uint32_t stride = 1;
  for (int i = 2; i <= shape.rank; ++i) {  // from the end
    const uint32_t size = static_cast<uint32_t>(shape[shape.rank - i]);
    if (size > 1) side->strides[static_cast<size_t>(6 - i)] = stride;
    stride *= size;
  }
  return true;
}

Status lower_broadcast(const Problem& problem, Lowering* out) {
  const fbs::Binary* binary = problem.op.params_as_Binary();
  if (binary == nullptr || problem.output.rank == 0) return unsupported("not a binary operator of tensors");
  if (problem.epilogue.tensor() != TensorId::None) return unsupported("a second tensor operand is fused into it");
  Side a, b;
  if (!describe(problem.inputs[0], problem.output, &a) || !describe(problem.inputs[1], problem.output, &b))
    return unsupported("rows of more than 65535 quads");
  const Rows rows = rows_of(problem.output);
  Call call{.kernel = Kernel::Broadcast, .groups = spread(rows.total(), 64, problem.limits)};
  call.constants = {EpilogueStep::kBinary + static_cast<uint32_t>(binary->kind())};
  call.push = {rows.rows};
  for (int i = 5; i >= 2; --i)
    call.push.append(i <= problem.output.rank ? static_cast<uint32_t>(problem.output[problem.output.rank - i]) : 1);
  call.push.append(a.strides);
  call.push.append(b.strides);
  call.push.append(a.quads << 16 | b.quads);
  call.input = out->input(0);
  call.operand = out->input(1);
  call.flops = static_cast<uint64_t>(problem.output.elements());
  return out->add_with_epilogue(std::move(call), {}, binary->output_min(), binary->output_max());
}

Status lower_elementwise(const Problem& problem, Lowering* out) {
  // The operator itself is the first step. The chain's value is the input that has the output's shape.
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

}  // namespace

Status lower_unary(const Problem& problem, int, Lowering* out) { return lower_elementwise(problem, out); }

Status lower_binary(const Problem& problem, int alternative, Lowering* out) {
  return alternative == 1 ? lower_broadcast(problem, out) : lower_elementwise(problem, out);
}

}  // namespace ferry::gpu
