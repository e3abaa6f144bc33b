// A tensor's type: the element type, and how integers are dequantized.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ferry_generated.h"

namespace ferry {

// An element in memory, Float32 or Int32, for code that only moves elements.
using Element = uint32_t;

struct Type {
  fbs::DType dtype = fbs::DType::Float32;
  // A quantized constant: its integers represent (integer - zero_point) * scale; `scale` is the tensor of scales
  // (fbs::Quantization).
  bool quantized = false;
  fbs::TensorId scale = fbs::TensorId::First;
  int32_t axis = 0;
  int32_t block = 0;  // elements per scale; 0: one scale for the tensor, or one per index of `axis`
  int32_t zero_point = 0;
  float float_scale = 0;  // of a quantized activation, instead of `scale`
};

// Whether both have the same integers for the same real numbers.
inline bool same_quantization(const Type& a, const Type& b) {
  return a.float_scale == b.float_scale && a.zero_point == b.zero_point;
}

// The type of a tensor in a blob.
inline Type type_of(const fbs::Tensor& tensor) {
  const fbs::Quantization* q = tensor.quantization();
  if (q == nullptr) return {tensor.dtype()};
  return {tensor.dtype(), true, q->scale(), q->axis(), q->block(), q->zero_point(), q->float_scale()};
}

// Bits per element; 0 for a type that does not occur in blobs or is unknown to this version.
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
    case fbs::DType::Int16:
    case fbs::DType::UInt16:
    case fbs::DType::UInt32:
    case fbs::DType::UInt64:
    case fbs::DType::Bool: break;
  }
  return 0;
}

// Bytes of `elements` elements; UINT64_MAX on overflow. For Int4 their number must be even.
inline uint64_t bytes_of(fbs::DType dtype, int64_t elements) {
  uint64_t bits = 0;
  return __builtin_mul_overflow(static_cast<uint64_t>(elements), uint64_t{bits_of(dtype)}, &bits) ? UINT64_MAX
                                                                                                  : bits / 8;
}

}  // namespace ferry
