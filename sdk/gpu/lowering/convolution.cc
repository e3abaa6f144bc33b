#include "sdk/gpu/lowering/convolution.h"

#include "sdk/gpu/lowering/product.h"

namespace ferry::gpu {

uint64_t Convolution::flops() const {
  const uint64_t products = uint64_t{taps()} * group_inputs() * outputs * 2;
  return products * (transposed ? uint64_t{batch} * input_height * input_width : pixels());
}

Status check_coordinates(const Convolution& c) {
  const auto fits = [](uint64_t extent, uint64_t before, uint64_t after, uint64_t kernel, uint64_t dilation) {
    return extent + before + after < (uint64_t{1} << 31) && kernel * dilation < (uint64_t{1} << 31);
  };
  const bool rows =
      fits(c.transposed ? c.output_height : c.input_height, c.pad_top, c.pad_bottom, c.kernel_h, c.dilation_h);
  const bool columns =
      fits(c.transposed ? c.output_width : c.input_width, c.pad_left, c.pad_right, c.kernel_w, c.dilation_w);
  if (!rows || !columns) return unsupported("coordinates of more than 31 bits");
  return {};
}

WordList push_of(const Convolution& c, uint32_t columns, uint32_t tiles_x, uint32_t unit, uint32_t bias) {
  return {columns,
          c.batch * c.output_height * tiles_x,
          tiles_x,
          c.output_height,
          c.output_width,
          c.input_height,
          c.input_width,
          ceil_div(c.inputs, 4),
          ceil_div(c.group_inputs(), unit),
          ceil_div(c.group_outputs(), unit),
          c.kernel_h,
          c.kernel_w,
          c.stride_h,
          c.stride_w,
          c.dilation_h,
          c.dilation_w,
          c.pad_top,
          c.pad_left,
          bias};
}

namespace {

Status lower_direct_by(Kernel kernel, const Problem& problem, const Convolution& c, RegisterTile tile, uint64_t minimum,
                       Lowering* out) {
  FERRY_TRY(check_coordinates(c));
  if (c.groups > 1 && (c.group_inputs() % 4 != 0 || c.group_outputs() % (4 * tile.quads) != 0))
    return unsupported("groups of %u inputs and %u outputs end within a quad", c.group_inputs(), c.group_outputs());
  // The tiles of a transposed convolution consist of pixels of one stride phase.
  const uint32_t phases = c.transposed && tile.rows > 1 ? c.stride_w : 1;
  const uint32_t quads = ceil_div(c.outputs, 4), quad_tiles = ceil_div(quads, tile.quads);
  if (c.output_width / phases < tile.rows || quads < tile.quads)
    return unsupported("an output %u wide of %u channels is less than a tile", c.output_width, c.outputs);
  const uint32_t tiles_x = phases * ceil_div(ceil_div(c.output_width, phases), tile.rows);
  const uint64_t row_tiles = uint64_t{c.batch} * c.output_height * tiles_x;
  if (tile.rows * tile.quads > 1 && row_tiles * quad_tiles < minimum)
    return unsupported("too few tiles of %u pixels", tile.rows);
  FERRY_TRY(check_rounds(uint64_t{c.taps()} * (1 + ceil_div(c.group_inputs(), 4))));

  uint32_t bias = 0;
  Region region = with_bias(problem, {{pack_outputs(problem.input_tensor(1), c.outputs, c.taps(), c.group_inputs())}},
                            c.outputs, &bias);
  Call call{.kernel = kernel, .workgroup = {kTileWorkgroup, 1, 1}};
  call.constants = {tile.rows, tile.quads};
  call.push = push_of(c, tile_columns(quad_tiles), tiles_x, 4, bias);
  call.groups = tile_groups(quad_tiles, static_cast<uint32_t>(row_tiles), problem.limits);
  call.flops = c.flops();
  return out->add_with_epilogue(std::move(call), std::move(region), c.min, c.max);
}

}  // namespace

Status lower_direct(const Problem& problem, const Convolution& c, RegisterTile tile, uint64_t minimum, Lowering* out) {
  return lower_direct_by(c.transposed ? Kernel::ConvTranspose2d : Kernel::Conv2d, problem, c, tile, minimum, out);
}

Status lower_direct_in_float16(const Problem& problem, const Convolution& c, RegisterTile tile, Lowering* out) {
  FERRY_TRY(check_float16s(problem.storage, problem.limits, ceil_div(c.group_inputs(), 4)));
  return lower_direct_by(Kernel::Conv2dFloat16, problem, c, tile, 0, out);
}

Status lower_grouped(const Problem& problem, const Convolution& c, Lowering* out) {
  FERRY_TRY(check_coordinates(c));
  FERRY_TRY(check_rounds(uint64_t{c.taps()} * (1 + c.group_inputs())));
  uint32_t bias = 0;
  Region region = with_bias(problem, {{pack_outputs(problem.input_tensor(1), c.outputs, c.taps(), c.group_inputs())}},
                            c.outputs, &bias);
  Call call{.kernel = Kernel::Conv2dGrouped, .workgroup = {kTileWorkgroup, 1, 1}};
  call.constants = {1, 1, c.transposed ? 1u : 0u};
  call.push = push_of(c, 1, c.output_width, 1, bias);
  call.groups = spread(c.pixels() * ceil_div(c.outputs, 4), kTileWorkgroup, problem.limits);
  call.flops = c.flops();
  return out->add_with_epilogue(std::move(call), std::move(region), c.min, c.max);
}

}  // namespace ferry::gpu
