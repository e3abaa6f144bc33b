// matmul: products of two activations, read in place.
#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/tiles.h"

namespace ferry::gpu {
namespace {

constexpr RegisterTile kMatMulTiles[] = {{4, 2}, {4, 1}, {1, 1}};
static_assert(kMatMulAlternatives == 1 + std::size(kMatMulTiles));

constexpr int kSamples = 4;  // sample dimensions: the output's but the last two

// Quads from one sample's matrix to the next, per sample dimension of the output.
std::array<uint32_t, kSamples> strides(const Shape& shape) {
  std::array<uint32_t, kSamples> out{};
  uint32_t stride = word(shape[shape.rank - 2]) * ceil_div(word(shape[shape.rank - 1]), 4);
  for (int d = shape.rank - 3, i = kSamples - 1; d >= 0; --d, --i) {
    if (shape[d] > 1) out[static_cast<size_t>(i)] = stride;
    stride *= word(shape[d]);
  }
  return out;
}

Status lower_tiles(const Problem& problem, const RegisterTile& tile, uint64_t minimum, Lowering* out) {
  const fbs::MatMul& p = *problem.op.params_as_MatMul();
  const Shape &a = problem.inputs[0], &b = problem.inputs[1], &y = problem.output;
  const uint32_t rows = word(y[y.rank - 2]), columns = word(y[y.rank - 1]), quads = ceil_div(columns, 4);
  const uint32_t depth = word(a[a.rank - (p.transpose_a() ? 2 : 1)]), samples = rows_of(y).rows / rows;
  const uint32_t quad_tiles = ceil_div(quads, tile.quads), row_tiles = samples * ceil_div(rows, tile.rows);
  const bool whole_quads = tile.rows == 4;  // of a, whose rows are its lanes
  if (p.transpose_a() ? !whole_quads : rows < tile.rows)
    return unsupported("matmul: %u rows do not suit tiles of %u", rows, tile.rows);
  if (quads < tile.quads || uint64_t{row_tiles} * quad_tiles < minimum)
    return unsupported("matmul: too few tiles of %u rows and %u quads", tile.rows, tile.quads);
  FERRY_TRY(check_rounds(ceil_div(depth, 4)));
  Call call{.kernel = Kernel::MatmulBatch, .workgroup = {kTileWorkgroup, 1, 1}};
  call.constants = {p.transpose_a() ? 1u : 0u, p.transpose_b() ? 1u : 0u, 0, 0, tile.rows, tile.quads};
  std::array<uint32_t, kSamples> sizes;
  sizes.fill(1);
  for (int d = y.rank - 3, i = kSamples - 1; d >= 0; --d, --i) sizes[static_cast<size_t>(i)] = word(y[d]);
  call.push.append(sizes);
  call.push.append(strides(a));
  call.push.append(strides(b));
  call.push.append(
      {samples, rows, depth, columns, quads, rows_of(a).quads(), rows_of(b).quads(), tile_columns(quad_tiles)});
  call.groups = tile_groups(quad_tiles, row_tiles, problem.limits);
  call.operand = out->input(1);
  call.flops = 2 * uint64_t{samples} * rows * columns * depth;
  out->add(call);
  return {};
}

}  // namespace

// Alternative 0: the largest tiles with enough invocations. Others: as listed.
Status lower_matmul(const Problem& problem, int alternative, Lowering* out) {
  if (alternative > 0) return lower_tiles(problem, kMatMulTiles[alternative - 1], 0, out);
  Status status;
  for (const uint64_t minimum : {kEnoughInvocations, uint64_t{0}})
    for (const RegisterTile& tile : kMatMulTiles) {
      status = lower_tiles(problem, tile, minimum, out);
      if (status.ok()) return {};
    }
  return status;
}

}  // namespace ferry::gpu
