// How large the integers of a graph can become: files have 64 bits, Ferry computes 32.
#pragma once

#include "converter/onnx/op.h"

namespace ferry::onnx {

// The largest absolute value of an integer tensor, as far as the operators that compute it say; else 2^31.
double integer_bound(Tensor x);

// Refuses a product of 64-bit integers with a constant of 2^15 or more (hashes of ids), unless it fits 32 bits. Smaller
// constants, such as a row's length in an index, are taken to fit.
void refuse_large_product(Op& op);

// Input i, a bound of Clip, Min or Max. Of 64-bit constants, those beyond 32 bits become the nearest in 32 bits, which
// leaves the result the same.
Tensor bound_in_32_bits(Op& op, size_t i);

}  // namespace ferry::onnx
