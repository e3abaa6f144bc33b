// Single operators whose kind is a value, for importers and for converter/graph/ops.cc. Family code uses ops.h.
#pragma once

#include <vector>

#include "converter/graph/graph.h"

namespace ferry {

Tensor unary(Tensor x, fbs::UnaryKind kind, double alpha = 0, double beta = 0);
Tensor binary(fbs::BinaryKind kind, Tensor a, Tensor b);
// A constant with one element of the type of `like`: Float32 or Int32. Of rank 0 if `like` is, else [1].
Tensor scalar(Tensor like, double value);
// x itself if it is of this type.
Tensor cast_to(Tensor x, fbs::DType type);
// x itself, or a copy of an input or a constant: the outputs of a graph must be computed by it.
Tensor computed(Tensor x);
// a where the condition (Int32) is not 0, else b.
Tensor select(Tensor condition, Tensor a, Tensor b);
// Of an Int8 activation that a blob may have.
inline constexpr float kSmallestScale = 0x1p-100f, kLargestScale = 0x1p100f;
// x rounded to Int8 with this scale and zero point. A positive scale below 2^-100, whose values are as good as 0,
// counts as 2^-100. Throws Error for other scales up to 0 and above 2^100, and a zero point outside of -128 to 127.
Tensor quantize(Tensor x, float scale, int64_t zero_point);
// The Float32 values of Int8.
Tensor dequantize(Tensor x);
// Both: at most 256 different values. compute_on_integers() (converter/quantize) then computes with the integers.
Tensor quantize_dequantize(Tensor x, float scale, int64_t zero_point);
// x itself without axes.
Tensor reduce(Tensor x, fbs::ReduceKind kind, const std::vector<int32_t>& axes, bool keep);

}  // namespace ferry
