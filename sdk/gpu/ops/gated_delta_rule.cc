#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/tiles.h"

namespace ferry::gpu {

// The kernel reads its five inputs from one binding.
Status lower_gated_delta_rule(const Problem& problem, int, Lowering* out) {
  constexpr uint32_t kQuads = 4, kParts = 16;  // as in gated_delta_rule.comp
  const Shape &q = problem.inputs[0], &v = problem.inputs[2], &state = problem.state;
  const uint32_t heads = word(state[2]), key_size = word(state[3]), value_quads = word(state[4]) / 4;
  if (state[4] % 4 != 0) return unsupported("heads that begin within a quad");
  const uint32_t rows = ceil_div(key_size, kParts), chunks = ceil_div(value_quads, kQuads);
  constexpr uint32_t kMaxRows = 32;  // held in registers
  if (rows > kMaxRows) return unsupported("keys of more than %u channels", kMaxRows * kParts);
  FERRY_TRY(check_rounds(uint64_t{word(q[1])} * 2 * (rows + kParts)));

  Call call{.kernel = Kernel::GatedDeltaRule, .workgroup = {kQuads, kParts, 1}, .constants = {rows}};
  const Rows matrices = rows_of(state);
  call.push = {word(q[0]),         word(q[1]),        heads,  heads / (word(q[2]) / key_size),
               key_size,           value_quads,       chunks, matrices.rows / 2 * value_quads,
               rows_of(q).quads(), ceil_div(heads, 4)};
  for (unsigned i = 0; i < 5; ++i) {
    const Rows part = rows_of(problem.inputs[i]);
    const Operand copy = out->workspace(part.total() * quad_bytes(problem.storage));
    if (i == 0) call.input = copy;
    add_rows(part, 0, out->input(i), copy, out);
    if (i > 0) call.push.append(word((copy.offset - call.input.offset) / quad_bytes(problem.storage)));
    call.input.bytes = copy.offset + copy.bytes - call.input.offset;
  }
  call.groups = spread(uint64_t{word(q[0])} * heads * chunks, 1, problem.limits);
  call.operand = out->state();
  call.flops = 3 * uint64_t{word(q[1])} * static_cast<uint64_t>(state.elements());
  call.written = stored_bytes(v, problem.storage) + call.operand.bytes;
  out->add(call);
  return {};
}

}  // namespace ferry::gpu
