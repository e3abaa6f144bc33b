// How a convolution, a transposed convolution or a linear operator is computed. kAlgorithms in algorithms.cc is the one
// table that decides; a new algorithm is a function that creates its op, and a row there.
#pragma once

#include "sdk/cpu/backend/op.h"
#include "sdk/cpu/gemm/gemm.h"

namespace ferry::cpu {

// An operator with constant weights, and what the choice depends on.
struct Weighted {
  const CpuFeatures& cpu;
  const Model& model;
  const fbs::Operator& op;
  bool float16;          // computes in float16, else in float32
  Shape weight, output;  // weight: [O,KH,KW,I/groups]; of a linear operator [O,I]
  Gemm gemm;             // the same as a matrix product, for operators of one group
  size_t rows;           // of that product, at the declared size
};
Weighted weighted(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, bool float16);

// The name of the first algorithm in the table that applies and pays, or "none".
const char* algorithm_of(const Weighted& op);

// XNNPACK's operators, which compute everything that no row before theirs does.
Status create_xnnpack_conv2d(const Weighted& op, std::unique_ptr<Op>* out);
Status create_xnnpack_conv_transpose2d(const Weighted& op, std::unique_ptr<Op>* out);
Status create_xnnpack_linear(const Weighted& op, std::unique_ptr<Op>* out);
Status create_int8_conv2d(const Weighted& op, std::unique_ptr<Op>* out);
Status create_int8_linear(const Weighted& op, std::unique_ptr<Op>* out);
// Depthwise convolutions of Int8 activations (sdk/cpu/int8/).
bool int8_depthwise_applies(const Weighted& op);
Status create_int8_depthwise(const Weighted& op, std::unique_ptr<Op>* out);
// False for float16 that XNNPACK computes slowly or, in this library, not at all.
bool xnnpack_conv2d_applies(const Weighted& op);
bool xnnpack_linear_applies(const Weighted& op);

// A transposed convolution whose windows neither overlap nor are cropped, as one matrix product (conv_transpose2d.cc).
bool windows_are_apart(const Weighted& op);
Status create_conv_transpose2d_by_gemm(const Weighted& op, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
