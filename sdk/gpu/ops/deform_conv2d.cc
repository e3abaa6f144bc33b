// deform_conv2d: direct sums. Offsets and mask share a binding: a mask is appended to the offsets first.
#include "sdk/gpu/lowering/convolution.h"
#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/product.h"

namespace ferry::gpu {
namespace {

constexpr uint32_t kTileQuads[] = {4, 1};  // of the output
static_assert(kDeformConv2dAlternatives == 1 + std::size(kTileQuads));

// Offsets, then the mask, as rows of a workspace.
Operand join(const Problem& problem, uint32_t quads, Lowering* out) {
  const Rows rows = rows_of(problem.inputs[3]);
  const uint64_t row_bytes = uint64_t{quads} * quad_bytes(problem.storage);
  const Operand joined = out->workspace(rows.rows * row_bytes);
  uint32_t first = 0;
  for (const unsigned i : {3u, 4u}) {
    const Rows part = rows_of(problem.inputs[i]);
    const uint32_t part_quads = ceil_div(first + part.channels, 4) - first / 4;
    Call call{.kernel = Kernel::Concat,
              .groups = spread(uint64_t{rows.rows} * part_quads, 64, problem.limits),
              .push = {rows.rows, part.channels, part.quads(), quads, first, part_quads, 1, 1, 0}};
    call.input = out->input(i);
    call.output = joined;
    call.written = uint64_t{rows.rows} * part_quads * quad_bytes(problem.storage);
    out->add(call);
    first += part.channels;
  }
  return joined;
}

Status lower_tiles(const Problem& problem, const Convolution& c, uint32_t tile_quads, uint64_t minimum, Lowering* out) {
  const uint32_t blocks = word(problem.op.params_as_DeformConv2d()->offset_groups()), block = c.inputs / blocks;
  if (blocks > 1 && block % 4 != 0) return unsupported("offsets for %u channels each end within a quad", block);
  if (c.groups > 1 && (c.group_inputs() % 4 != 0 || c.group_outputs() % (4 * tile_quads) != 0))
    return unsupported("groups of %u inputs and %u outputs end within a quad", c.group_inputs(), c.group_outputs());
  const uint32_t quads = ceil_div(c.outputs, 4), quad_tiles = ceil_div(quads, tile_quads);
  if (quads < tile_quads || (tile_quads > 1 && c.pixels() * quad_tiles < minimum))
    return unsupported("too few tiles of %u quads", tile_quads);
  FERRY_TRY(check_rounds(uint64_t{c.taps()} * (1 + blocks + ceil_div(c.group_inputs(), 4))));
  const bool masked = problem.inputs.size() > 4;
  const uint32_t offsets = 2 * blocks * c.taps(), row = offsets / 2 * (masked ? 3 : 2);
  const uint32_t operand_quads = ceil_div(row, 4);

  uint32_t bias = 0;
  Region region = with_bias(problem, {{pack_outputs(problem.input_tensor(1), c.outputs, c.taps(), c.group_inputs())}},
                            c.outputs, &bias);
  Call call{.kernel = Kernel::DeformConv2d, .workgroup = {kTileWorkgroup, 1, 1}};
  call.constants = {masked ? 1u : 0u, 0, 0, 0, 1, tile_quads};
  call.push = {tile_columns(quad_tiles),
               word(static_cast<int64_t>(c.pixels())),
               c.output_height,
               c.output_width,
               c.input_height,
               c.input_width,
               quads,
               c.outputs,
               ceil_div(c.inputs, 4),
               ceil_div(block, 4),
               ceil_div(c.group_inputs(), 4),
               ceil_div(c.group_outputs(), 4),
               c.kernel_h,
               c.kernel_w,
               c.stride_h,
               c.stride_w,
               c.dilation_h,
               c.dilation_w,
               c.pad_top,
               c.pad_left,
               bias,
               operand_quads,
               offsets};
  call.groups = tile_groups(quad_tiles, word(static_cast<int64_t>(c.pixels())), problem.limits);
  call.operand = masked ? join(problem, operand_quads, out) : out->input(3);
  call.weights = out->weights(std::move(region));
  call.flops = c.flops();
  out->add(call);
  return {};
}

}  // namespace

// Alternative 0: the largest tiles with enough invocations. Others: as listed.
Status lower_deform_conv2d(const Problem& problem, int alternative, Lowering* out) {
  const Convolution c = convolution_of(problem, *problem.op.params_as_DeformConv2d());
  FERRY_TRY(check_coordinates(c));
  if (alternative > 0) return lower_tiles(problem, c, kTileQuads[alternative - 1], 0, out);
  Status status;
  for (const uint32_t quads : kTileQuads) {
    status = lower_tiles(problem, c, quads, kEnoughInvocations, out);
    if (status.ok()) break;
  }
  return status;
}

}  // namespace ferry::gpu
