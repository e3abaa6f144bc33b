#include "sdk/model/elements.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ferry {
namespace {

template <typename T>
T load(std::span<const std::byte> from, size_t i) {
  T value;
  std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
  return value;
}

int int4_at(std::span<const std::byte> from, size_t i) {
  const int nibble = std::to_integer<int>(from[i / 2] >> (i % 2 * 4)) & 15;
  return nibble < 8 ? nibble : nibble - 16;
}

// Selects the scale of element i.
struct Scales {
  explicit Scales(const StoredConstant& c)
      : bytes(c.scales), blocks(c.type.block > 0), half(c.scale_dtype == fbs::DType::Float16) {
    if (blocks) {
      run = static_cast<size_t>(c.type.block);
      count = static_cast<size_t>(c.shape.elements()) / run;
    } else if (bytes.size() > sizeof(float)) {
      for (int d = c.type.axis + 1; d < c.shape.rank; ++d) run *= static_cast<size_t>(c.shape[d]);
      count = static_cast<size_t>(c.shape[c.type.axis]);
    }
  }
  template <typename T>
  T at(size_t i) const {
    const size_t which = i / run % count;
    if (!blocks) return static_cast<T>(load<float>(bytes, which));
    const uint16_t stored = load<uint16_t>(bytes, which);
    return static_cast<T>(half ? from_float16(stored) : from_bfloat16(stored));
  }

  std::span<const std::byte> bytes;
  bool blocks, half;
  size_t run = 1, count = 1;
};

template <typename T>
void read(const StoredConstant& c, size_t begin, std::span<T> out) {
  const auto each = [&]<typename From>(From, const auto& number) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(number(load<From>(c.bytes, begin + i)));
  };
  const auto same = [](auto value) { return value; };
  switch (c.type.dtype) {
    case fbs::DType::Float64: each(double(), same); break;
    case fbs::DType::Float32: each(float(), same); break;
    case fbs::DType::Float16: each(uint16_t(), from_float16); break;
    case fbs::DType::BFloat16: each(uint16_t(), from_bfloat16); break;
    case fbs::DType::Int64: each(int64_t(), same); break;
    case fbs::DType::Int32: each(int32_t(), same); break;
    case fbs::DType::Int8: each(int8_t(), same); break;
    case fbs::DType::UInt8: each(uint8_t(), same); break;
    case fbs::DType::Int4:
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(int4_at(c.bytes, begin + i));
      break;
    case fbs::DType::Int16:
    case fbs::DType::UInt16:
    case fbs::DType::UInt32:
    case fbs::DType::UInt64:
    case fbs::DType::Bool: return;  // constants have no such type
  }
  if (!c.type.quantized) return;
  const Scales scales(c);
  for (size_t i = 0; i < out.size();) {
    const T scale = scales.at<T>(begin + i);
    for (size_t end = std::min(out.size(), i + scales.run - (begin + i) % scales.run); i < end; ++i)
      out[i] = (out[i] - static_cast<T>(c.type.zero_point)) * scale;
  }
}

}  // namespace

float from_float16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 31u;
  const uint32_t mantissa = half & 1023u;
  if (exponent == 0) {  // zero and subnormals: multiples of 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255u : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

float from_bfloat16(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

void read_elements(const StoredConstant& constant, float* out) {
  read_elements(constant, 0, {out, static_cast<size_t>(constant.shape.elements())});
}

void read_elements(const StoredConstant& constant, double* out) {
  read<double>(constant, 0, {out, static_cast<size_t>(constant.shape.elements())});
}

void read_elements(const StoredConstant& constant, size_t begin, std::span<float> out) { read(constant, begin, out); }

}  // namespace ferry
