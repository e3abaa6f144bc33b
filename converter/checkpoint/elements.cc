#include <array>
#include <cstring>
#include <type_traits>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/quantized.h"
#include "converter/checkpoint/small_float.h"
#include "converter/graph/float16.h"
#include "sdk/model/elements.h"

namespace ferry {
namespace {

// An element of an unusual type, as a class that converts to float and double.
template <typename Bits, float (*widen)(Bits)>
struct Stored {
  Bits bits;
  explicit operator float() const { return widen(bits); }
  explicit operator double() const { return static_cast<double>(widen(bits)); }
};

// All values of a type of 8 bits.
template <typename Value>
std::array<float, 256> table_of(Value value) {
  std::array<float, 256> table;
  for (size_t bits = 0; bits < table.size(); ++bits)
    table[bits] = static_cast<float>(value(static_cast<uint8_t>(bits)));
  return table;
}

float from_float8_e4m3(uint8_t bits) {
  static const auto kTable = table_of([](uint8_t b) { return kFloat8E4M3FN.value(b); });
  return kTable[bits];
}

float from_float8_e5m2(uint8_t bits) {
  static const auto kTable = table_of([](uint8_t b) { return kFloat8E5M2.value(b); });
  return kTable[bits];
}

float from_float8_e8m0(uint8_t bits) {
  static const auto kTable = table_of(float8_e8m0);
  return kTable[bits];
}

float from_flag(uint8_t bits) { return bits != 0 ? 1.0f : 0.0f; }

template <typename From, typename To>
std::vector<To> widen(std::span<const std::byte> bytes) {
  std::vector<To> out(bytes.size() / sizeof(From));
  for (size_t i = 0; i < out.size(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
    out[i] = static_cast<To>(value);
  }
  return out;
}

// The usual types of large checkpoints.
std::vector<float> widen(std::span<const std::byte> bytes, void (*widen_all)(const std::byte*, std::span<float>)) {
  std::vector<float> out(bytes.size() / sizeof(uint16_t));
  widen_all(bytes.data(), out);
  return out;
}

template <typename To>
std::vector<To> elements_of(const CheckpointTensor& t) {
  if constexpr (std::is_same_v<To, float>) {
    if (t.type == ElementType::F16) return widen(t.bytes, from_float16);
    if (t.type == ElementType::BF16) return widen(t.bytes, from_bfloat16);
  }
  switch (t.type) {
    case ElementType::F64: return widen<double, To>(t.bytes);
    case ElementType::F32: return widen<float, To>(t.bytes);
    case ElementType::F16: return widen<Stored<uint16_t, from_float16>, To>(t.bytes);
    case ElementType::BF16: return widen<Stored<uint16_t, from_bfloat16>, To>(t.bytes);
    case ElementType::F8_E4M3: return widen<Stored<uint8_t, from_float8_e4m3>, To>(t.bytes);
    case ElementType::F8_E5M2: return widen<Stored<uint8_t, from_float8_e5m2>, To>(t.bytes);
    case ElementType::F8_E8M0: return widen<Stored<uint8_t, from_float8_e8m0>, To>(t.bytes);
    case ElementType::I64: return widen<int64_t, To>(t.bytes);
    case ElementType::I32: return widen<int32_t, To>(t.bytes);
    case ElementType::I16: return widen<int16_t, To>(t.bytes);
    case ElementType::I8: return widen<int8_t, To>(t.bytes);
    case ElementType::U64: return widen<uint64_t, To>(t.bytes);
    case ElementType::U32: return widen<uint32_t, To>(t.bytes);
    case ElementType::U16: return widen<uint16_t, To>(t.bytes);
    case ElementType::U8: return widen<uint8_t, To>(t.bytes);
    case ElementType::Bool: return widen<Stored<uint8_t, from_flag>, To>(t.bytes);
  }
  return {};
}

template <typename To>
std::vector<To> values_of(const CheckpointTensor& t) {
  if (t.encoding) {
    const std::vector<float> values = t.encoding->values(t.bytes, t.shape);
    return {values.begin(), values.end()};
  }
  std::vector<To> values = elements_of<To>(t);
  if (t.scales) t.scales->apply(t.shape, &values);
  return values;
}

}  // namespace

size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::F64:
    case ElementType::I64:
    case ElementType::U64: return 8;
    case ElementType::F32:
    case ElementType::I32:
    case ElementType::U32: return 4;
    case ElementType::F16:
    case ElementType::BF16:
    case ElementType::I16:
    case ElementType::U16: return 2;
    case ElementType::F8_E4M3:
    case ElementType::F8_E5M2:
    case ElementType::F8_E8M0:
    case ElementType::I8:
    case ElementType::U8:
    case ElementType::Bool: return 1;
  }
  return 0;
}

const char* element_name(ElementType type) {
  switch (type) {
    case ElementType::F64: return "F64";
    case ElementType::F32: return "F32";
    case ElementType::F16: return "F16";
    case ElementType::BF16: return "BF16";
    case ElementType::F8_E4M3: return "F8_E4M3";
    case ElementType::F8_E5M2: return "F8_E5M2";
    case ElementType::F8_E8M0: return "F8_E8M0";
    case ElementType::I64: return "I64";
    case ElementType::I32: return "I32";
    case ElementType::I16: return "I16";
    case ElementType::I8: return "I8";
    case ElementType::U64: return "U64";
    case ElementType::U32: return "U32";
    case ElementType::U16: return "U16";
    case ElementType::U8: return "U8";
    case ElementType::Bool: return "BOOL";
  }
  return "?";
}

bool is_float(ElementType type) {
  switch (type) {
    case ElementType::F64:
    case ElementType::F32:
    case ElementType::F16:
    case ElementType::BF16:
    case ElementType::F8_E4M3:
    case ElementType::F8_E5M2:
    case ElementType::F8_E8M0: return true;
    default: return false;
  }
}

int64_t CheckpointTensor::elements() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::vector<float> CheckpointTensor::to_floats() const { return values_of<float>(*this); }
std::vector<double> CheckpointTensor::to_doubles() const { return values_of<double>(*this); }

}  // namespace ferry
