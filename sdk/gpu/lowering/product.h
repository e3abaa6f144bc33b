// Matrix products: linears, and convolutions of single pixels.
#pragma once

#include "sdk/gpu/lowering/op.h"
#include "sdk/gpu/lowering/tiles.h"

namespace ferry::gpu {

// [rows][inputs] times op's input 1, [outputs][inputs], plus its input 2 where it has one; then a clamp.
struct Product {
  uint32_t rows, inputs, outputs;
  float min, max;
};

// Ways to compute one.
inline constexpr int kProductAlternatives = 15;
// `minimum`: fewer invocations than that will not do.
Status lower_product(const Problem& problem, const Product& product, int alternative, uint64_t minimum, Lowering* out);

// Several products, without an epilogue, between workspaces: [z][rows][inputs] times weights [outputs/4][z][inputs/4][4
// of inputs] to [z][rows][outputs].
void add_products(const Problem& problem, uint32_t z, uint32_t rows, uint32_t inputs, uint32_t outputs,
                  const Operand& input, const Operand& weights, const Operand& output, Lowering* out);

// How kernels find the weights of products (shaders/weights.glsl).
struct ProductWeight {
  Region region;
  uint32_t bits = 32;
  bool in_blocks = false;  // of 8 bits: with a scale for kScaleBlock inputs
  uint32_t scales = 0;     // where they begin, in words of 8 bytes
  uint32_t bias = 0;       // in quads
};
// Of op's input `input`, [outputs][inputs], then its input `bias`, where it has one, a number an output.
ProductWeight product_weight(const Problem& problem, unsigned input, unsigned bias, uint32_t outputs, uint32_t inputs);

// Op's weights as packed in `region`, then its input `bias` where it has one: *quad is that one's first quad, or 0.
Region with_bias(const Problem& problem, Region region, uint32_t outputs, uint32_t* quad, unsigned bias = 2);

}  // namespace ferry::gpu
