// One function per operator: create_conv2d() and so on create the Op for the schema's parameter table. They are
// compiled for size, also in files of hot kernels.
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

// Operators that also compute in float16. create_float16_conv2d() and so on: Float32 operands except constants, and the
// result, are float16. *out stays null if this operator cannot.
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

// Element size in bytes of the operator's first input, for operators that move elements of any type.
inline size_t element_bytes(const Model& model, const fbs::Operator& op) {
  return bits_of(model.tensor(op.inputs()->Get(0)).dtype()) / 8;
}

}  // namespace ferry::cpu
