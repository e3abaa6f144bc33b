#include "sdk/gpu/lowering/product.h"

#include <algorithm>

namespace ferry::gpu {
namespace {

struct ProductKernel {
  Kernel kernel;
  RegisterTile tile;
  // Invocations that share a quad's sums (matvec), or staged input quads (matmul_shared).
  uint32_t split = 0;
};

// For few rows, kernels that split the inner dimension; otherwise tiles, fewest loads per multiplication first. Staged
// and float16 kernels are selected by tuning only.
constexpr ProductKernel kProductKernels[] = {
    {Kernel::MatvecSubgroup, {1, 1}, 64},
    {Kernel::MatvecSubgroup, {4, 1}, 64},
    {Kernel::Matvec, {1, 1}, 64},
    {Kernel::Matvec, {4, 1}, 64},
    {Kernel::Matvec, {1, 1}, 16},
    {Kernel::Matvec, {4, 1}, 16},
    {Kernel::Matmul, {4, 2}},
    {Kernel::Matmul, {4, 1}},
    {Kernel::Matmul, {1, 1}},
    {Kernel::Matmul, {8, 1}},
    {Kernel::MatmulFloat16, {4, 2}},
    {Kernel::MatmulFloat16, {8, 1}},
    {Kernel::MatmulSharedFloat16, {4, 2}, 8},
    {Kernel::MatmulShared, {4, 2}, 4},
    {Kernel::MatmulShared, {8, 2}, 2},
};

static_assert(std::size(kProductKernels) == kProductAlternatives);

constexpr uint32_t kFewRows = 4;                         // maximum rows for matvec
constexpr uint32_t kThreadsQuads = 8, kThreadsRows = 8;  // of matmul_shared

Status fits(const ProductKernel& alternative, const Product& product, uint64_t minimum, Storage storage,
            const Limits& limits) {
  const RegisterTile& tile = alternative.tile;
  const uint32_t quads = ceil_div(product.outputs, 4), input_quads = ceil_div(product.inputs, 4);
  const bool float16s =
      alternative.kernel == Kernel::MatmulFloat16 || alternative.kernel == Kernel::MatmulSharedFloat16;
  if (float16s && minimum > 0) return unsupported("matmul: float16 products are selected by tuning only");
  if (float16s) FERRY_TRY(check_float16s(storage, limits, input_quads));
  switch (alternative.kernel) {
    case Kernel::MatvecSubgroup:
      if (!limits.subgroup_arithmetic) return unsupported("the device has no subgroup arithmetic");
      [[fallthrough]];
    case Kernel::Matvec:
      if (product.rows > kFewRows || (tile.rows == 1) != (product.rows == 1) || input_quads < alternative.split)
        return unsupported("matvec: %u rows of %u inputs do not suit tiles of %u rows", product.rows, product.inputs,
                           tile.rows);
      return check_rounds(input_quads / alternative.split);
    case Kernel::MatmulShared:
    case Kernel::MatmulSharedFloat16: {
      const uint32_t block_rows = kThreadsRows * tile.rows, block_quads = kThreadsQuads * tile.quads;
      const uint32_t bytes = (block_rows + 4 * block_quads) * alternative.split * (float16s ? 8 : 16);
      if (bytes > limits.shared_bytes)
        return unsupported("matmul: %u bytes of shared memory; the device has %u", bytes, limits.shared_bytes);
      if (product.rows < block_rows / 2 || quads < block_quads / 2 || input_quads < alternative.split)
        return unsupported("matmul: %u rows, %u outputs are too few to be staged", product.rows, product.outputs);
      return check_rounds(2 * uint64_t{input_quads});  // staging has loops of its own
    }
    default:
      if (product.rows < tile.rows || quads < tile.quads)
        return unsupported("matmul: %u rows, %u outputs are less than a tile", product.rows, product.outputs);
      if (tile.rows * tile.quads > 1 &&
          uint64_t{ceil_div(product.rows, tile.rows)} * ceil_div(quads, tile.quads) < minimum)
        return unsupported("matmul: too few tiles of %u rows", tile.rows);
      return check_rounds(input_quads);
  }
}

}  // namespace

Status check_float16s(Storage storage, const Limits& limits, uint32_t input_quads) {
  if (storage != Storage::Float16) return unsupported("float16 products require float16 storage");
  if (!limits.float16_arithmetic) return unsupported("the device has no float16 arithmetic");
  if (input_quads <= 2 * kFloat16Block) return unsupported("%u quads of inputs are too few for blocks", input_quads);
  return {};
}

Status check_rounds(uint64_t rounds) {
  constexpr uint64_t kMaximum = 60000;
  if (rounds <= kMaximum) return {};
  return unsupported("a sum of %llu rounds is longer than drivers allow", static_cast<unsigned long long>(rounds));
}

ProductWeight product_weight(const Problem& problem, unsigned input, unsigned bias, uint32_t outputs, uint32_t inputs) {
  ProductWeight out;
  const Type& type = problem.types[input];
  const TensorId tensor = problem.input_tensor(input);
  Region& region = out.region;
  if (type.quantized) {
    const uint32_t blocks = type.block == 0 ? 1 : inputs / static_cast<uint32_t>(type.block);
    region.pieces.push_back(pack_integers(tensor, outputs, inputs, type.dtype, problem.storage));
    out.bits = bits_of(type.dtype);
    out.in_blocks = type.block == kScaleBlock;
    out.scales = static_cast<uint32_t>(region.quads() * quad_bytes(problem.storage) / 8);
    const bool repeat = problem.scales == Shape{1};
    region.pieces.push_back(pack_scales(type.scale, outputs, blocks, repeat, problem.storage));
  } else {
    region.pieces.push_back(pack_outputs(tensor, outputs, 1, inputs));
  }
  region = with_bias(problem, std::move(region), outputs, &out.bias, bias);
  return out;
}

Status lower_product(const Problem& problem, const Product& product, int alternative, uint64_t minimum, Lowering* out) {
  const ProductKernel& chosen = kProductKernels[alternative];
  FERRY_TRY(fits(chosen, product, minimum, problem.storage, problem.limits));
  const RegisterTile& tile = chosen.tile;
  const uint32_t quads = ceil_div(product.outputs, 4), input_quads = ceil_div(product.inputs, 4);
  ProductWeight weight = product_weight(problem, 1, 2, product.outputs, product.inputs);
  Call call{.kernel = chosen.kernel, .workgroup = {kTileWorkgroup, 1, 1}};
  call.constants = {tile.rows, tile.quads, weight.bits};
  call.flops = 2 * uint64_t{product.rows} * product.inputs * product.outputs;
  if (chosen.kernel == Kernel::Matmul || chosen.kernel == Kernel::MatmulFloat16) {
    const uint32_t quad_tiles = ceil_div(quads, tile.quads);
    call.push = {tile_columns(quad_tiles), product.rows, input_quads, 4 * input_quads, weight.bias, weight.scales};
    call.groups = tile_groups(quad_tiles, ceil_div(product.rows, tile.rows), problem.limits);
  } else {
    call.push = {product.rows, input_quads, weight.bias, weight.scales};
    uint32_t block_rows = tile.rows, block_quads = kTileWorkgroup / chosen.split;
    if (chosen.kernel == Kernel::MatmulShared || chosen.kernel == Kernel::MatmulSharedFloat16) {
      call.constants.append({kThreadsQuads, kThreadsRows});
      block_rows = kThreadsRows * tile.rows;
      block_quads = kThreadsQuads * tile.quads;
    }
    call.constants.append(chosen.split);
    call.groups =
        spread(uint64_t{ceil_div(product.rows, block_rows)} * ceil_div(quads, block_quads), 1, problem.limits);
  }
  if (weight.in_blocks && weight.bits == 8) {
    constexpr size_t kBeforeInBlocks = 6;  // constants 7 to 12; the kernels have not all of them
    while (std::span<const uint32_t>(call.constants).size() < kBeforeInBlocks) call.constants.append(0);
    call.constants.append(1);
  }
  return out->add_with_epilogue(std::move(call), std::move(weight.region), product.min, product.max);
}

void add_products(const Problem& problem, uint32_t z, uint32_t rows, uint32_t inputs, uint32_t outputs,
                  const Operand& input, const Operand& weights, const Operand& output, Lowering* out) {
  const uint32_t quads = ceil_div(outputs, 4), input_quads = ceil_div(inputs, 4);
  const RegisterTile tile = rows >= 4 && quads >= 2 ? RegisterTile{4, 2} : RegisterTile{};
  const uint32_t quad_tiles = ceil_div(quads, tile.quads);
  Call call{.kernel = Kernel::Matmul, .workgroup = {kTileWorkgroup, 1, 1}};
  call.constants = {0, 0, 0, 0, tile.rows, tile.quads, ProductWeight().bits};
  call.push = {
      0, 0, 0, 0, 0, 0, 0, 0, outputs, quads, 0, 1, tile_columns(quad_tiles), rows, input_quads, z * 4 * input_quads,
      0};
  call.groups = tile_groups(quad_tiles, ceil_div(rows, tile.rows), problem.limits);
  call.groups[2] = z;
  call.input = input;
  call.weights = weights;
  call.output = output;
  call.flops = 2 * uint64_t{z} * rows * inputs * outputs;
  out->add(call);
}

Region with_bias(const Problem& problem, Region region, uint32_t outputs, uint32_t* quad, unsigned bias) {
  *quad = 0;
  if (problem.inputs.size() > bias) {
    *quad = static_cast<uint32_t>(region.quads());
    region.pieces.push_back(pack_rows(problem.input_tensor(bias), 1, outputs));
  }
  return region;
}

}  // namespace ferry::gpu
