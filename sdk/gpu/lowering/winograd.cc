// Winograd's minimal filtering: transforms the input, computes a matrix product for each of the n*n points, and
// transforms the products.
#include "sdk/gpu/lowering/convolution.h"
#include "sdk/gpu/lowering/product.h"

namespace ferry::gpu {

Status lower_winograd(const Problem& problem, const Convolution& c, uint32_t tile, Lowering* out) {
  FERRY_TRY(check_coordinates(c));
  if (c.kernel_h != 3 || c.kernel_w != 3 || c.groups != 1 || c.stride_h != 1 || c.stride_w != 1 || c.dilation_h != 1 ||
      c.dilation_w != 1)
    return unsupported("winograd: not a plain 3x3 kernel");
  // F(4x4) amplifies float16 rounding to a mean squared error of up to 8e-6; F(2x2) to 3e-7.
  if (tile == 4 && problem.storage == Storage::Float16) return unsupported("winograd: tiles of 4 require float32");
  const uint32_t points = (tile + 2) * (tile + 2);
  const uint32_t tiles_x = ceil_div(c.output_width, tile), tiles_y = ceil_div(c.output_height, tile);
  const uint64_t tiles = uint64_t{c.batch} * tiles_x * tiles_y;
  const uint32_t input_quads = ceil_div(c.inputs, 4), quads = ceil_div(c.outputs, 4);
  const uint64_t input_bytes = points * tiles * input_quads * quad_bytes(problem.storage);
  const uint64_t output_bytes = points * tiles * quads * quad_bytes(problem.storage);
  if (points > problem.limits.workgroup_count[2]) return unsupported("winograd: %u workgroups in depth", points);
  if (input_bytes > problem.limits.storage_range || output_bytes > problem.limits.storage_range)
    return unsupported("winograd: %llu transformed tiles exceed a binding", static_cast<unsigned long long>(tiles));
  FERRY_TRY(check_rounds(input_quads));
  const Operand transformed = out->workspace(input_bytes), products = out->workspace(output_bytes);
  const uint32_t tiles32 = static_cast<uint32_t>(tiles);

  Call input{.kernel = Kernel::WinogradInput, .constants = {tile}};
  input.groups = spread(tiles * input_quads, 64, problem.limits);
  input.push = {tiles32, tiles_x, tiles_y, input_quads, c.input_height, c.input_width, c.pad_top, c.pad_left};
  input.output = transformed;
  input.flops = tiles * c.inputs * points * 12;
  out->add(input);

  const Operand weights = out->weights({{pack_winograd(problem.input_tensor(1), c.outputs, c.inputs, points)}});
  add_products(problem, points, tiles32, c.inputs, c.outputs, transformed, weights, products, out);

  Region region;
  const bool has_bias = problem.inputs.size() > 2;
  if (has_bias) region.pieces.push_back(pack_rows(problem.input_tensor(2), 1, c.outputs));
  Call output{.kernel = Kernel::WinogradOutput, .constants = {tile}};
  output.groups = spread(tiles * quads, 64, problem.limits);
  output.push = {tiles32, tiles_x, tiles_y, c.output_height, c.output_width, has_bias ? 1u : 0u};
  output.input = products;
  output.flops = tiles * c.outputs * points * 10;
  return out->add_with_epilogue(std::move(output), std::move(region), c.min, c.max);
}

}  // namespace ferry::gpu
