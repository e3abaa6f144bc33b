// A tensor's type: what its elements are, and which numbers they stand for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ferry_generated.h"

namespace ferry {

// Element of a tensor's memory: a Float32 or an Int32. What only moves elements need not know which.
using Element = uint32_t;

struct Type {
  fbs::DType dtype = fbs::DType::Float32;
  // Of a quantised constant: its elements are integers, which stand for (integer - zero_point) * scale, where `scale`
  // is the tensor that holds the scales (fbs::Quantization).
  bool quantized = false;
  fbs::TensorId scale = fbs::TensorId::First;
  int32_t axis = 0;
  int32_t block = 0;  // 0: one scale for the tensor, or one an index of `axis`
  int32_t zero_point = 0;
};

// Of a tensor in a blob (fbs::Tensor).
inline Type type_of(const fbs::Tensor& tensor) {
  const fbs::Quantization* q = tensor.quantization();
  if (q == nullptr) return {tensor.dtype()};
  return {tensor.dtype(), true, q->scale(), q->axis(), q->block(), q->zero_point()};
}

// Of a tensor in the converter's graph (fbs::TensorT).
inline Type type_of(const fbs::TensorT& tensor) {
  const fbs::QuantizationT* q = tensor.quantization.get();
  if (q == nullptr) return {tensor.dtype};
  return {tensor.dtype, true, q->scale, q->axis, q->block, q->zero_point};
}

// Bits of one element; 0 for a type that no blob holds, or that this version does not know.
inline unsigned bits_of(fbs::DType dtype) {
  switch (dtype) {
    case fbs::DType::Float64:
    case fbs::DType::Int64: return 64;
    case fbs::DType::Float32:
    case fbs::DType::Int32: return 32;
    case fbs::DType::Float16:
    case fbs::DType::BFloat16: return 16;
    case fbs::DType::Int8:
    case fbs::DType::UInt8: return 8;
    case fbs::DType::Int4: return 4;
    default: return 0;
  }
}

// Bytes that so many elements take; UINT64_MAX where they exceed what 64 bits count. Of Int4 there is an even number.
inline uint64_t bytes_of(fbs::DType dtype, int64_t elements) {
  uint64_t bits = 0;
  return __builtin_mul_overflow(static_cast<uint64_t>(elements), uint64_t{bits_of(dtype)}, &bits) ? UINT64_MAX
                                                                                                  : bits / 8;
}

}  // namespace ferry
