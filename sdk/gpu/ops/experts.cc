// experts: two products, whose rows select their weights by expert index. Indices and shares are copied to one binding.
#include <bit>

#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/product.h"

namespace ferry::gpu {
namespace {

constexpr uint32_t kQuadsOfGroup = 4;  // of the output, as in experts.comp

// A stack of matrices [E,R,W], as the kernel addresses it.
struct Stack {
  uint32_t rows, width;  // of a matrix
  ProductWeight weight;
};

Status stack_of(const Problem& problem, unsigned input, unsigned bias, Stack* out) {
  const Shape& shape = problem.inputs[input];
  const Type& type = problem.types[input];
  *out = {word(shape[1]), word(shape[2]), {}};
  if (out->rows % 4 != 0 || out->width % 4 != 0) return unsupported("experts whose rows end within a quad");
  if (type.quantized && type.block != kScaleBlock && type.block != shape[2])
    return unsupported("experts with a scale per %d elements", type.block);
  FERRY_TRY(check_rounds(uint64_t{word(problem.inputs[1][problem.inputs[1].rank - 1])} * ceil_div(out->width, 4)));
  out->weight = product_weight(problem, input, bias, word(shape[0]) * out->rows, out->width);
  return {};
}

}  // namespace

Status lower_experts(const Problem& problem, int, Lowering* out) {
  const fbs::Experts& p = *problem.op.params_as_Experts();
  const uint32_t experts = word(problem.inputs[3][0]);
  for (unsigned i = 0; i < 3; ++i)
    if (problem.is_constant[i]) return unsupported("experts: a constant input");
  if (problem.storage == Storage::Float16 && experts > kIntegersInFloat16)
    return unsupported("%u experts: float16 cannot represent their indices", experts);
  Stack stacks[2];
  for (unsigned i = 0; i < 2; ++i) FERRY_TRY(stack_of(problem, 3 + i, 5 + i, &stacks[i]));

  const uint64_t quad = quad_bytes(problem.storage);
  const Rows chosen = rows_of(problem.inputs[1]);
  const Operand choice = out->workspace(2 * chosen.total() * quad);
  for (unsigned i = 0; i < 2; ++i) add_rows(chosen, i * chosen.rows, out->input(1 + i), choice, out);

  const uint32_t places = chosen.rows * chosen.channels, hidden = stacks[1].width;
  const Operand between = out->workspace(uint64_t{places} * hidden / 4 * quad);
  for (unsigned i = 0; i < 2; ++i) {
    Stack& stack = stacks[i];
    const bool down = i == 1;
    const uint32_t rows = down ? chosen.rows : places, output_quads = (down ? stack.rows : hidden) / 4;
    out->add({.kernel = Kernel::Experts,
              .groups = spread(uint64_t{rows} * ceil_div(output_quads, kQuadsOfGroup), 1, problem.limits),
              .constants = {down ? 1u : 0u, down ? 0u : static_cast<uint32_t>(p.activation()), 0, 0, 1, 1,
                            stack.weight.bits, 0, 0, 0, stack.weight.in_blocks ? 1u : 0u},
              .push = {chosen.rows, chosen.channels, chosen.quads(), static_cast<uint32_t>(chosen.total()), experts,
                       stack.width / 4, output_quads, stack.weight.bias, stack.weight.scales,
                       std::bit_cast<uint32_t>(p.alpha()), std::bit_cast<uint32_t>(p.limit())},
              .output = down ? Operand() : between,
              .input = down ? between : Operand(),
              .weights = out->weights(std::move(stack.weight.region)),
              .operand = choice,
              .flops = 2 * uint64_t{places} * stack.rows * stack.width});
  }
  return {};
}

}  // namespace ferry::gpu
