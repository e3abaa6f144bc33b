// The numbers that a constant's elements stand for, whatever type they are stored in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sdk/operators/shape.h"
#include "sdk/operators/type.h"

namespace ferry {

// A constant where it lies, of a type that blobs or the converter's graph hold (Int4 and Int8 with scales, too).
struct StoredConstant {
  Type type;
  Shape shape;
  std::span<const std::byte> bytes;
  // Of a quantised one: Float32, or with blocks BFloat16; one for the tensor, or as many as type and shape ask for.
  std::span<const std::byte> scales = {};
};

// Writes all of its numbers to `out`, row-major. Quantised ones are (integer - zero_point) * scale, rounded once.
void read_numbers(const StoredConstant& constant, float* out);
void read_numbers(const StoredConstant& constant, double* out);
// Of them those from number `begin` on, as many as `out` has room for.
void read_numbers(const StoredConstant& constant, size_t begin, std::span<float> out);

float from_float16(uint16_t half);
float from_bfloat16(uint16_t value);

}  // namespace ferry
