// Float32 values of constants of any stored type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sdk/operators/shape.h"
#include "sdk/operators/type.h"

namespace ferry {

// A constant in place, of any type in blobs or in the converter's graph (Int4 and Int8 with scales, too).
struct StoredConstant {
  Type type;
  Shape shape;
  std::span<const std::byte> bytes;
  // Scales of a quantised constant: Float32, or `scale_dtype` with blocks; one per tensor, or as many as type and shape
  // require.
  std::span<const std::byte> scales = {};
  fbs::DType scale_dtype = fbs::DType::BFloat16;  // or Float16
};

// Writes all values to `out`, row-major. Quantised values are (integer - zero_point) * scale, rounded once.
void read_elements(const StoredConstant& constant, float* out);
void read_elements(const StoredConstant& constant, double* out);
// Writes out.size() values from index `begin` on.
void read_elements(const StoredConstant& constant, size_t begin, std::span<float> out);

float from_float16(uint16_t half);
float from_bfloat16(uint16_t value);

}  // namespace ferry
