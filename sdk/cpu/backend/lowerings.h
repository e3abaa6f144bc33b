// One function a file, create_conv2d() and so on: makes the Op for its table of the schema. Compiled for size, in files
// of hot kernels, too.
#pragma once

#include "sdk/cpu/backend/op.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/type.h"

namespace ferry::cpu {

#define FERRY_LOWERING(Type, name, ...)                                                                   \
  [[gnu::cold]] Status create_##name(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, \
                                     std::unique_ptr<Op>* out);
FERRY_OPERATORS(FERRY_LOWERING)
#undef FERRY_LOWERING

// Those that compute with halves, too, where sessions ask for it: operands that are Float32 are halves then, but for
// constants, and so is the result. create_half_conv2d() and so on; *out stays null where this operator cannot.
#define FERRY_FLOAT16_LOWERINGS(X)     \
  X(Conv2d, conv2d)                    \
  X(Linear, linear)                    \
  X(Pool2d, pool2d)                    \
  X(Unary, unary)                      \
  X(Binary, binary)                    \
  X(Reduce, reduce)                    \
  X(Concat, concat)                    \
  X(PixelShuffle, pixel_shuffle)       \
  X(Resize2d, resize2d)                \
  X(Pad, pad)                          \
  X(Reshape, reshape)                  \
  X(Transpose, transpose)              \
  X(Slice, slice)                      \
  X(Softmax, softmax)                  \
  X(ConvTranspose2d, conv_transpose2d) \
  X(LayerNorm, layer_norm)             \
  X(Attention, attention)              \
  X(WindowPartition, window_partition) \
  X(WindowReverse, window_reverse)

#define FERRY_LOWERING(Type, name)                                                                                \
  [[gnu::cold]] Status create_float16_##name(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, \
                                             std::unique_ptr<Op>* out);
FERRY_FLOAT16_LOWERINGS(FERRY_LOWERING)
#undef FERRY_LOWERING

// Of the operator's first input, for operators that move elements whatever they are.
inline size_t element_bytes(const Model& model, const fbs::Operator& op) {
  return bits_of(model.tensor(op.inputs()->Get(0)).dtype()) / 8;
}

}  // namespace ferry::cpu
