#include "converter/onnx/array.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "converter/checkpoint/small_float.h"
#include "converter/graph/float16.h"
#include "sdk/model/elements.h"

namespace ferry::onnx {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 40;
constexpr int64_t kMaxComputed = int64_t{1} << 28;  // maximum elements of a computed constant
constexpr int64_t kComputedOfStored = 16;           // maximum total of computed elements per element stored in the file

thread_local int64_t t_left = INT64_MAX;  // remaining elements that this thread's conversion may compute

// A large array that was transposed: a weight, for all imports of a file at several sizes.
struct Transposed {
  std::vector<std::byte> bytes;
  std::shared_ptr<const void> source;  // lives as long, so that its address is that of no other array
};
// By the source's address and type, and the shape and the strides there.
thread_local std::map<std::tuple<const std::byte*, Type, Dims, Dims>, std::weak_ptr<Transposed>> t_transposed;

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename To, typename Load>
std::vector<To> read_all(const Array& array, Load load_one) {
  const size_t size = type_size(array.type);
  std::vector<To> out(array.data.bytes.size() / size);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<To>(load_one(array.data.bytes.data() + i * size));
  return out;
}

template <typename To>
std::vector<To> read_integers(const Array& array) {
  switch (array.type) {
    case Type::Bool: return read_all<To>(array, [](const std::byte* p) { return *p != std::byte{0}; });
    case Type::UInt8:
    case Type::UInt4:
    case Type::UInt2: return read_all<To>(array, load<uint8_t>);
    case Type::Int8:
    case Type::Int4:
    case Type::Int2: return read_all<To>(array, load<int8_t>);
    case Type::UInt16: return read_all<To>(array, load<uint16_t>);
    case Type::Int16: return read_all<To>(array, load<int16_t>);
    case Type::UInt32: return read_all<To>(array, load<uint32_t>);
    case Type::Int32: return read_all<To>(array, load<int32_t>);
    case Type::UInt64: return read_all<To>(array, load<uint64_t>);
    case Type::Int64: return read_all<To>(array, load<int64_t>);
    default: fail("a constant of type %s, expected integers", type_name(array.type).c_str());
  }
}

template <typename T, typename From, typename Convert>
Array write_all(Type type, const Dims& dims, const std::vector<From>& values, Convert convert) {
  if (count_elements(dims) != static_cast<int64_t>(values.size()))
    fail("%zu values for a constant of shape %s", values.size(), to_string(dims).c_str());
  auto owner = std::make_shared<std::vector<std::byte>>(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = convert(values[i]);
    std::memcpy(owner->data() + i * sizeof(T), &value, sizeof value);
  }
  const std::span<const std::byte> bytes(*owner);
  return {type, dims, {std::move(owner), bytes}};
}

template <typename T>
T clip(double value) {
  if (std::isnan(value)) return 0;
  // The limits of 64-bit types are not exactly representable as double, so values beyond them are compared with the
  // next double.
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <typename T>
Array write_integers(Type type, const Dims& dims, const std::vector<double>& values) {
  return write_all<T>(type, dims, values, clip<T>);
}

template <typename T>
Array write_integers(Type type, const Dims& dims, const std::vector<int64_t>& values) {
  return write_all<T>(type, dims, values, [](int64_t v) { return static_cast<T>(v); });
}

// Integers of 2 or 4 bits: floating point saturates, integers wrap.
Array write_bits(Type type, const Dims& dims, const std::vector<double>& values, int64_t low, int64_t high) {
  return write_all<uint8_t>(
      type, dims, values, [low, high](double v) { return static_cast<uint8_t>(std::clamp(to_integer(v), low, high)); });
}
Array write_bits(Type type, const Dims& dims, const std::vector<int64_t>& values, int64_t low, int64_t high) {
  const auto first = static_cast<uint64_t>(low), mask = static_cast<uint64_t>(high - low);
  return write_all<uint8_t>(type, dims, values, [first, mask](int64_t v) {
    return static_cast<uint8_t>(((static_cast<uint64_t>(v) - first) & mask) + first);
  });
}

double small_float(Type type, uint8_t bits) {
  switch (type) {
    case Type::Float8E4M3FN: return kFloat8E4M3FN.value(bits);
    case Type::Float8E4M3FNUZ: return kFloat8E4M3FNUZ.value(bits);
    case Type::Float8E5M2: return kFloat8E5M2.value(bits);
    case Type::Float8E5M2FNUZ: return kFloat8E5M2FNUZ.value(bits);
    case Type::Float4E2M1: return kFloat4E2M1.value(bits);
    default: return float8_e8m0(bits);
  }
}

template <typename From>
Array make(Type type, const Dims& dims, const std::vector<From>& values) {
  switch (type) {
    case Type::Float32: return write_all<float>(type, dims, values, [](From v) { return static_cast<float>(v); });
    case Type::Float64: return write_all<double>(type, dims, values, [](From v) { return static_cast<double>(v); });
    case Type::Float16:
      return write_all<uint16_t>(type, dims, values, [](From v) { return to_float16(static_cast<double>(v)); });
    case Type::BFloat16:
      return write_all<uint16_t>(type, dims, values, [](From v) { return to_bfloat16(static_cast<double>(v)); });
    case Type::Bool: return write_all<uint8_t>(type, dims, values, [](From v) { return static_cast<uint8_t>(v != 0); });
    case Type::UInt8: return write_integers<uint8_t>(type, dims, values);
    case Type::Int8: return write_integers<int8_t>(type, dims, values);
    case Type::UInt16: return write_integers<uint16_t>(type, dims, values);
    case Type::Int16: return write_integers<int16_t>(type, dims, values);
    case Type::UInt32: return write_integers<uint32_t>(type, dims, values);
    case Type::Int32: return write_integers<int32_t>(type, dims, values);
    case Type::UInt64: return write_integers<uint64_t>(type, dims, values);
    case Type::Int64: return write_integers<int64_t>(type, dims, values);
    case Type::UInt4: return write_bits(type, dims, values, 0, 15);
    case Type::Int4: return write_bits(type, dims, values, -8, 7);
    case Type::UInt2: return write_bits(type, dims, values, 0, 3);
    case Type::Int2: return write_bits(type, dims, values, -2, 1);
    default: fail("constants of type %s cannot be computed", type_name(type).c_str());
  }
}

}  // namespace

int64_t to_integer(double value) { return clip<int64_t>(value); }

std::string type_name(Type type) {
  switch (type) {
    case Type::Undefined: return "undefined";
    case Type::Float32: return "float32";
    case Type::UInt8: return "uint8";
    case Type::Int8: return "int8";
    case Type::UInt16: return "uint16";
    case Type::Int16: return "int16";
    case Type::Int32: return "int32";
    case Type::Int64: return "int64";
    case Type::String: return "string";
    case Type::Bool: return "bool";
    case Type::Float16: return "float16";
    case Type::Float64: return "float64";
    case Type::UInt32: return "uint32";
    case Type::UInt64: return "uint64";
    case Type::Complex64: return "complex64";
    case Type::Complex128: return "complex128";
    case Type::BFloat16: return "bfloat16";
    case Type::Float8E4M3FN: return "float8e4m3fn";
    case Type::Float8E4M3FNUZ: return "float8e4m3fnuz";
    case Type::Float8E5M2: return "float8e5m2";
    case Type::Float8E5M2FNUZ: return "float8e5m2fnuz";
    case Type::UInt4: return "uint4";
    case Type::Int4: return "int4";
    case Type::Float4E2M1: return "float4e2m1";
    case Type::Float8E8M0: return "float8e8m0";
    case Type::UInt2: return "uint2";
    case Type::Int2: return "int2";
  }
  return "number " + std::to_string(static_cast<int>(type));
}

size_t type_size(Type type) {
  switch (type) {
    case Type::Bool:
    case Type::UInt8:
    case Type::Int8:
    case Type::Float8E4M3FN:
    case Type::Float8E4M3FNUZ:
    case Type::Float8E5M2:
    case Type::Float8E5M2FNUZ:
    case Type::Float8E8M0:
    case Type::UInt4:
    case Type::Int4:
    case Type::Float4E2M1:
    case Type::UInt2:
    case Type::Int2: return 1;
    case Type::Float16:
    case Type::BFloat16:
    case Type::UInt16:
    case Type::Int16: return 2;
    case Type::Float32:
    case Type::UInt32:
    case Type::Int32: return 4;
    case Type::Float64:
    case Type::UInt64:
    case Type::Int64: return 8;
    case Type::Undefined:
    case Type::Complex64:
    case Type::Complex128:
    case Type::String: return 0;
  }
  return 0;
}

int type_bits(Type type) {
  switch (type) {
    case Type::UInt2:
    case Type::Int2: return 2;
    case Type::UInt4:
    case Type::Int4:
    case Type::Float4E2M1: return 4;
    default: return static_cast<int>(8 * type_size(type));
  }
}

bool is_small_float(Type type) {
  return (type >= Type::Float8E4M3FN && type <= Type::Float8E5M2FNUZ) || type == Type::Float4E2M1 ||
         type == Type::Float8E8M0;
}

bool is_float(Type type) {
  return type == Type::Float32 || type == Type::Float64 || type == Type::Float16 || type == Type::BFloat16 ||
         is_small_float(type);
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

int64_t count_elements(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t d : dims) {
    if (d < 0) fail("shape %s has a negative dimension", to_string(dims).c_str());
    if (d != 0 && count > kMaxElements / d) fail("shape %s has more than 2^40 elements", to_string(dims).c_str());
    count *= d;
  }
  return count;
}

void begin_computing(int64_t stored) {
  t_left = kMaxComputed + kComputedOfStored * stored;
  std::erase_if(t_transposed, [](const auto& array) { return array.second.expired(); });
}

int64_t count_computed(const Dims& dims) {
  const int64_t count = count_elements(dims);
  if (count > kMaxComputed)
    fail("a constant of shape %s would be computed, at most %lld elements are allowed", to_string(dims).c_str(),
         static_cast<long long>(kMaxComputed));
  if (count > t_left)
    fail("a constant of shape %s would be computed, after many others: they are too large for this file",
         to_string(dims).c_str());
  t_left -= count;
  return count;
}

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  return strides;
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) fail("%s and %s do not broadcast", to_string(a).c_str(), to_string(b).c_str());
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::vector<double> Array::floats() const {
  switch (type) {
    case Type::Float32: return read_all<double>(*this, load<float>);
    case Type::Float64: return read_all<double>(*this, load<double>);
    case Type::Float16:
      return read_all<double>(*this, [](const std::byte* p) { return from_float16(load<uint16_t>(p)); });
    case Type::BFloat16:
      return read_all<double>(*this, [](const std::byte* p) { return from_bfloat16(load<uint16_t>(p)); });
    default: break;
  }
  if (!is_small_float(type)) return read_integers<double>(*this);
  return read_all<double>(*this, [this](const std::byte* p) { return small_float(type, load<uint8_t>(p)); });
}

std::vector<int64_t> Array::ints() const { return read_integers<int64_t>(*this); }

Array Array::reshaped(const Dims& to) const {
  if (count_elements(to) != elements())
    fail("%s does not hold the %lld elements of %s", to_string(to).c_str(), static_cast<long long>(elements()),
         to_string(dims).c_str());
  return {type, to, data};
}

Array make_array(Type type, const Dims& dims, const std::vector<double>& values) { return make(type, dims, values); }
Array make_array(Type type, const Dims& dims, const std::vector<int64_t>& values) { return make(type, dims, values); }

Array make_vector(const std::vector<int64_t>& values) {
  return make_array(Type::Int64, {static_cast<int64_t>(values.size())}, values);
}

Array gather_elements(const Array& from, const Dims& dims, const std::vector<int64_t>& index) {
  const size_t size = type_size(from.type);
  auto owner = std::make_shared<std::vector<std::byte>>(index.size() * size);
  for (size_t i = 0; i < index.size(); ++i)
    std::memcpy(owner->data() + i * size, from.data.bytes.data() + static_cast<size_t>(index[i]) * size, size);
  const std::span<const std::byte> bytes(*owner);
  return {from.type, dims, {std::move(owner), bytes}};
}

namespace {

// Fills `to`, an array of shape `dims`, with the elements at these strides in `from`.
template <size_t kSize>
void copy_strided(const std::byte* from, const Dims& dims, const Dims& strides, std::vector<std::byte>* to) {
  const size_t last = dims.size() - 1;
  const int64_t row = dims[last], step = strides[last] * static_cast<int64_t>(kSize);
  Dims position(dims.size(), 0);
  int64_t at = 0;
  for (std::byte *out = to->data(), *end = out + to->size(); out != end;) {
    const std::byte* in = from + at * static_cast<int64_t>(kSize);
    for (int64_t i = 0; i < row; ++i, in += step, out += kSize) std::memcpy(out, in, kSize);
    for (size_t d = last; d-- > 0;) {
      at += strides[d];
      if (++position[d] < dims[d]) break;
      at -= strides[d] * dims[d];
      position[d] = 0;
    }
  }
}

// The array of shape `dims` whose elements are at these strides in `from`. `owner` gets its bytes.
Array strided(const Array& from, const Dims& dims, const Dims& strides, std::shared_ptr<std::vector<std::byte>> owner) {
  owner->resize(static_cast<size_t>(count_computed(dims)) * type_size(from.type));
  const std::byte* bytes = from.data.bytes.data();
  if (dims.empty()) std::copy_n(bytes, owner->size(), owner->begin());
  if (!dims.empty() && !owner->empty()) switch (type_size(from.type)) {
      case 1: copy_strided<1>(bytes, dims, strides, owner.get()); break;
      case 2: copy_strided<2>(bytes, dims, strides, owner.get()); break;
      case 4: copy_strided<4>(bytes, dims, strides, owner.get()); break;
      default: copy_strided<8>(bytes, dims, strides, owner.get()); break;
    }
  const std::span<const std::byte> all(*owner);
  return {from.type, dims, {std::move(owner), all}};
}

}  // namespace

Array transpose(const Array& from, const std::vector<int>& perm) {
  const Dims strides = strides_of(from.dims);
  Dims dims, walked;
  for (const int p : perm) {
    dims.push_back(from.dims[static_cast<size_t>(p)]);
    walked.push_back(strides[static_cast<size_t>(p)]);
  }
  constexpr size_t kLarge = 1 << 16;
  if (!from.data.owner || from.data.bytes.size() < kLarge)
    return strided(from, dims, walked, std::make_shared<std::vector<std::byte>>());
  const auto [known, fresh] = t_transposed.try_emplace({from.data.bytes.data(), from.type, dims, walked});
  if (const std::shared_ptr<Transposed> held = known->second.lock())
    return {from.type, dims, {std::shared_ptr<std::vector<std::byte>>(held, &held->bytes), held->bytes}};
  const auto made = std::make_shared<Transposed>(Transposed{{}, from.data.owner});
  known->second = made;
  return strided(from, dims, walked, {made, &made->bytes});
}

Array expand(const Array& from, const Dims& dims) {
  if (from.dims == dims) return from;
  if (broadcast(from.dims, dims) != dims)
    fail("%s does not expand to %s", to_string(from.dims).c_str(), to_string(dims).c_str());
  const Dims strides = strides_of(from.dims);
  Dims walked(dims.size(), 0);
  const size_t lead = dims.size() - from.dims.size();
  for (size_t i = 0; i < from.dims.size(); ++i)
    if (from.dims[i] != 1) walked[lead + i] = strides[i];
  return strided(from, dims, walked, std::make_shared<std::vector<std::byte>>());
}

Array cast(const Array& from, Type type) {
  if (from.type == type) return from;
  if (is_float(from.type) || is_float(type)) return make_array(type, from.dims, from.floats());
  return make_array(type, from.dims, from.ints());
}

}  // namespace ferry::onnx
