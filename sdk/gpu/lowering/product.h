// Matrix products: linear operators and 1x1 convolutions.
#pragma once

#include "sdk/gpu/lowering/op.h"
#include "sdk/gpu/lowering/tiles.h"

namespace ferry::gpu {

// [rows][inputs] times op's input 1, [outputs][inputs], plus the optional input 2; then a clamp.
struct Product {
  uint32_t rows, inputs, outputs;
  float min, max;
};

// Number of alternatives.
inline constexpr int kProductAlternatives = 15;
// FERRY_UNSUPPORTED: fewer than `minimum` invocations.
Status lower_product(const Problem& problem, const Product& product, int alternative, uint64_t minimum, Lowering* out);

// Several products without an epilogue, between workspaces: [z][rows][inputs] times weights [outputs/4][z][inputs/4][4
// of inputs] to [z][rows][outputs].
void add_products(const Problem& problem, uint32_t z, uint32_t rows, uint32_t inputs, uint32_t outputs,
                  const Operand& input, const Operand& weights, const Operand& output, Lowering* out);

// The packed weights of a product (shaders/weights.glsl).
struct ProductWeight {
  Region region;
  uint32_t bits = 32;
  bool in_blocks = false;  // 8 bits: one scale per kScaleBlock inputs
  uint32_t scales = 0;     // offset, in words of 8 bytes
  uint32_t bias = 0;       // offset, in quads
};
// Packs op's input `input`, [outputs][inputs], then its optional input `bias`, one element per output.
ProductWeight product_weight(const Problem& problem, unsigned input, unsigned bias, uint32_t outputs, uint32_t inputs);

// Appends op's optional input `bias` to `region`. *quad: its first quad, or 0.
Region with_bias(const Problem& problem, Region region, uint32_t outputs, uint32_t* quad, unsigned bias = 2);

}  // namespace ferry::gpu
