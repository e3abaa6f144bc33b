#include <algorithm>

#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/product.h"
#include "sdk/gpu/lowering/tiles.h"

namespace ferry::gpu {

Status lower_causal_conv1d(const Problem& problem, int, Lowering* out) {
  const Shape& x = problem.inputs[0];
  if (std::find(problem.is_constant.begin() + 1, problem.is_constant.end(), false) != problem.is_constant.end())
    return unsupported("weights that are not constant");
  const uint32_t kernel = word(problem.inputs[1][0]), channels = word(x[2]);
  FERRY_TRY(check_rounds(uint64_t{word(x[1])} * (kernel + 1)));
  Region region{{pack_rows(problem.input_tensor(1), kernel, channels)}};
  uint32_t bias = 0;
  region = with_bias(problem, std::move(region), channels, &bias);
  Call call{.kernel = Kernel::CausalConv1d};
  call.push = {word(x[0]), word(x[1]), channels, ceil_div(channels, 4), kernel - 1, bias};
  call.groups = spread(uint64_t{word(x[0])} * ceil_div(channels, 4), 64, problem.limits);
  call.weights = out->weights(std::move(region));
  call.operand = out->state();
  call.flops = 2 * static_cast<uint64_t>(x.elements()) * kernel;
  call.written = stored_bytes(x, problem.storage) + call.operand.bytes;
  out->add(call);
  return {};
}

}  // namespace ferry::gpu
