// Matrix products with constant weights on AVX-512. XNNPACK's kernels compute 7 rows at once there and wait for weights
// from the L2 cache; these compute 12.
#pragma once

#include "sdk/cpu/xnn.h"

namespace ferry::cpu {

struct Gemm {
  size_t inputs = 0, outputs = 0;
  float output_min = 0, output_max = 0;
};

// Whether this machine and a product of `rows` rows gain by it. False on machines without AVX-512.
bool gemm_avx512_pays(size_t rows, const Gemm& gemm);

// An op whose input's last dimension is gemm.inputs, for all its rows; its weights are [outputs,(1,1,)inputs], its bias is
// optional. Packs the weights through the model's cache.
Status create_gemm_avx512(const Model& model, const fbs::Operator& op, const Gemm& gemm, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
