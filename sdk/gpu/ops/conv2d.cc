// conv2d: 1x1 kernels as a matrix product, depthwise kernels, direct sums, Winograd's filtering, any groups.
#include <algorithm>

#include "sdk/gpu/lowering/convolution.h"
#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/product.h"
#include "sdk/operators/type_rules.h"

namespace ferry::gpu {
namespace {

using LowerConv2d = Status (*)(const Problem& problem, const Convolution& convolution, RegisterTile tile,
                               uint64_t minimum, Lowering* out);

Status lower_depthwise(const Problem& problem, const Convolution& c, RegisterTile tile, uint64_t minimum,
                       Lowering* out) {
  FERRY_TRY(check_coordinates(c));
  if (c.group_inputs() != 1 || c.group_outputs() != 1) return unsupported("not depthwise");
  FERRY_TRY(check_rounds(c.taps()));
  constexpr uint32_t kWidest = 7;  // kernel width that a tile keeps in registers
  if (tile.rows > 1 && (c.dilation_w > 1 || c.stride_w > 2 || c.kernel_w > kWidest || c.output_width < tile.rows))
    return unsupported("depthwise kernels %u wide and their stride do not suit tiles of %u pixels", c.kernel_w,
                       tile.rows);
  const uint32_t tiles_x = ceil_div(c.output_width, tile.rows);
  const uint64_t invocations = uint64_t{c.batch} * c.output_height * tiles_x * ceil_div(c.outputs, 4);
  if (tile.rows > 1 && invocations < minimum) return unsupported("too few tiles of %u pixels", tile.rows);
  uint32_t bias = 0;
  Region region =
      with_bias(problem, {{pack_depthwise(problem.input_tensor(1), c.outputs, c.taps())}}, c.outputs, &bias);
  Call call{.kernel = Kernel::Conv2dDepthwise, .workgroup = {kTileWorkgroup, 1, 1}};
  call.constants = {tile.rows, 1, tile.rows > 1 ? c.kernel_w : 1, tile.rows > 1 ? c.stride_w : 1};
  call.push = push_of(c, 1, tiles_x, 1, bias);
  call.groups = spread(invocations, kTileWorkgroup, problem.limits);
  call.flops = c.flops();
  return out->add_with_epilogue(std::move(call), std::move(region), c.min, c.max);
}

Status lower_any_groups(const Problem& problem, const Convolution& c, RegisterTile, uint64_t, Lowering* out) {
  return lower_grouped(problem, c, out);
}

// Selected by tuning only, since it moves more bytes than the others.
Status lower_tuned_winograd(const Problem& problem, const Convolution& c, RegisterTile tile, uint64_t minimum,
                            Lowering* out) {
  if (minimum > 0) return unsupported("winograd is selected by tuning only");
  return lower_winograd(problem, c, tile.rows, out);
}

// Selected by tuning only, since the gain is unknown on phones.
Status lower_tuned_float16s(const Problem& problem, const Convolution& c, RegisterTile tile, uint64_t minimum,
                            Lowering* out) {
  if (minimum > 0) return unsupported("float16 products are selected by tuning only");
  return lower_direct_in_float16(problem, c, tile, out);
}

struct Way {
  LowerConv2d lower;
  RegisterTile tile;
};

// After the alternatives of a matrix product, in order of preference.
constexpr Way kConv2dWays[] = {
    {lower_depthwise, {4, 1}},      {lower_depthwise, {1, 1}},      {lower_direct, {4, 2}},
    {lower_direct, {4, 1}},         {lower_direct, {1, 1}},         {lower_any_groups, {1, 1}},
    {lower_tuned_float16s, {4, 2}}, {lower_tuned_float16s, {8, 1}}, {lower_tuned_winograd, {4, 1}},
    {lower_tuned_winograd, {2, 1}}, {lower_direct, {8, 1}},         {lower_direct, {2, 2}},
};

static_assert(kConv2dAlternatives == 1 + kProductAlternatives + std::size(kConv2dWays));

Status lower_way(const Problem& problem, const Convolution& c, int which, uint64_t minimum, Lowering* out) {
  if (which >= kProductAlternatives) {
    if (problem.types[1].quantized)
      return unsupported("conv2d: input 1 is of type %s, which the GPU backend accepts for 1x1 kernels only",
                         in_words(problem.types[1]).c_str());
    const Way& chosen = kConv2dWays[which - kProductAlternatives];
    return chosen.lower(problem, c, chosen.tile, minimum, out);
  }
  if (c.taps() != 1 || c.groups != 1 || c.stride_h != 1 || c.stride_w != 1 || c.output_height != c.input_height ||
      c.output_width != c.input_width)
    return unsupported("not a 1x1 convolution");
  const Product product{static_cast<uint32_t>(c.pixels()), c.inputs, c.outputs, c.min, c.max};
  return lower_product(problem, product, which, minimum, out);
}

}  // namespace

// Alternative 0: the first that fits and has enough invocations. Others: as listed.
Status lower_conv2d(const Problem& problem, int alternative, Lowering* out) {
  if (problem.is_constant[0]) return unsupported("conv2d: a constant input");
  const Convolution convolution = convolution_of(problem, *problem.op.params_as_Conv2d());
  if (alternative > 0) return lower_way(problem, convolution, alternative - 1, 0, out);
  Status status;
  for (int i = 0; i + 1 < kConv2dAlternatives; ++i) {
    status = lower_way(problem, convolution, i, kEnoughInvocations, out);
    if (status.ok()) break;
  }
  return status;
}

}  // namespace ferry::gpu
