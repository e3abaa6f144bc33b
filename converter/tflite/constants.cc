#include "converter/tflite/constants.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>

#include "converter/tflite/sparse.h"
#include "sdk/model/elements.h"

namespace ferry::tflite {
namespace {

using Type = schema::TensorType;

// Of types that a constant may have; else 0.
int bits_of(Type type) {
  switch (type) {
    case Type::INT4: return 4;
    case Type::INT8:
    case Type::UINT8:
    case Type::BOOL: return 8;
    case Type::FLOAT16:
    case Type::INT16:
    case Type::UINT16: return 16;
    case Type::FLOAT32:
    case Type::INT32:
    case Type::UINT32: return 32;
    case Type::FLOAT64:
    case Type::INT64: return 64;
    default: return 0;
  }
}

template <typename T, typename U>
std::vector<U> read_as(std::span<const std::byte> bytes) {
  std::vector<U> out(bytes.size() / sizeof(T));
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<U>(value);
  }
  return out;
}

// Two integers a byte, the first in the low bits.
std::vector<int64_t> read_int4(std::span<const std::byte> bytes, size_t elements) {
  std::vector<int64_t> out(elements);
  for (size_t i = 0; i < elements; ++i) {
    const unsigned nibble = std::to_integer<unsigned>(bytes[i / 2]) >> (i % 2 * 4) & 15u;
    out[i] = static_cast<int64_t>(nibble ^ 8u) - 8;
  }
  return out;
}

std::vector<int64_t> integers(Type type, std::span<const std::byte> bytes, size_t elements) {
  switch (type) {
    case Type::INT4: return read_int4(bytes, elements);
    case Type::INT8: return read_as<int8_t, int64_t>(bytes);
    case Type::UINT8:
    case Type::BOOL: return read_as<uint8_t, int64_t>(bytes);
    case Type::INT16: return read_as<int16_t, int64_t>(bytes);
    case Type::UINT16: return read_as<uint16_t, int64_t>(bytes);
    case Type::INT32: return read_as<int32_t, int64_t>(bytes);
    case Type::UINT32: return read_as<uint32_t, int64_t>(bytes);
    case Type::INT64: return read_as<int64_t, int64_t>(bytes);
    default: fail("a constant of type %s, expected integers", type_name(type));
  }
}

// (integer - zero point) * scale, per tensor or along one dimension.
std::vector<float> dequantised(const schema::Tensor& tensor, const Shape& shape, const std::vector<int64_t>& values) {
  const schema::QuantizationParameters& q = *tensor.quantization();
  if (q.details_type() != schema::QuantizationDetails::NONE) fail("its scales are of a custom kind");
  const unsigned scales = q.scale()->size(), zeros = count(q.zero_point());
  const int axis = q.quantized_dimension();
  if (scales > 1 && (axis < 0 || axis >= shape.rank || shape[axis] != static_cast<int64_t>(scales)))
    fail("%u scales along dimension %d do not fit its shape %s", scales, axis, to_string(shape).c_str());
  if (zeros > 1 && zeros != scales) fail("%u zero points for %u scales", zeros, scales);
  for (unsigned i = 0; i < zeros; ++i)
    if (q.zero_point()->Get(i) != static_cast<int32_t>(q.zero_point()->Get(i))) fail("a zero point is beyond 32 bits");
  size_t inner = 1;
  for (int d = axis + 1; scales > 1 && d < shape.rank; ++d) inner *= static_cast<size_t>(shape[d]);
  std::vector<float> out(values.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const auto channel = static_cast<unsigned>(scales > 1 ? i / inner % scales : 0);
    const int64_t zero = zeros == 0 ? 0 : q.zero_point()->Get(zeros > 1 ? channel : 0);
    out[i] = static_cast<float>(values[i] - zero) * q.scale()->Get(channel);
  }
  return out;
}

// The bytes of all elements: of a sparse constant, computed.
Constant dense_bytes(const File& file, int tensor, const Shape& shape, int bits) {
  const schema::Tensor& t = file.tensor(tensor);
  if (t.sparsity() != nullptr) return hold(expand_sparse(*t.sparsity(), shape, bits / 8, file.bytes(tensor)));
  const std::span<const std::byte> bytes = file.bytes(tensor);
  const auto want = static_cast<size_t>((shape.elements() * bits + 7) / 8);
  if (bytes.size() != want)
    fail("'%s' of shape %s has %zu bytes, expected %zu", file.tensor_name(tensor).c_str(), to_string(shape).c_str(),
         bytes.size(), want);
  return {.owner = file.owner, .bytes = bytes};
}

}  // namespace

const char* type_name(Type type) {
  static constexpr const char* kNames[] = {"float32", "float16",    "int32",     "uint8",  "int64",   "string",
                                           "bool",    "int16",      "complex64", "int8",   "float64", "complex128",
                                           "uint64",  "a resource", "a variant", "uint32", "uint16",  "int4"};
  const auto index = static_cast<size_t>(type);
  return index < std::size(kNames) ? kNames[index] : "of a later schema";
}

bool is_float(Type type) { return type == Type::FLOAT32 || type == Type::FLOAT16 || type == Type::FLOAT64; }

bool is_quantised(const schema::Tensor& tensor) {
  return !is_float(tensor.type()) && tensor.quantization() != nullptr &&
         (count(tensor.quantization()->scale()) > 0 ||
          tensor.quantization()->details_type() != schema::QuantizationDetails::NONE);
}

fbs::DType to_dtype(Type type) {
  switch (type) {
    case Type::FLOAT32: return fbs::DType::Float32;
    case Type::FLOAT16: return fbs::DType::Float16;
    case Type::FLOAT64: return fbs::DType::Float64;
    case Type::INT8: return fbs::DType::Int8;
    case Type::INT16: return fbs::DType::Int16;
    case Type::INT32: return fbs::DType::Int32;
    case Type::INT64: return fbs::DType::Int64;
    case Type::UINT8: return fbs::DType::UInt8;
    case Type::UINT16: return fbs::DType::UInt16;
    case Type::UINT32: return fbs::DType::UInt32;
    case Type::BOOL: return fbs::DType::Bool;
    default: fail("activations of type %s are not supported", type_name(type));
  }
}

Shape to_shape(std::span<const int64_t> sizes) {
  Shape shape;
  if (sizes.size() > FERRY_MAX_RANK) fail("%zu dimensions, at most %d can be run", sizes.size(), FERRY_MAX_RANK);
  int64_t elements = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = sizes[i];
    if (size < 1) fail("dimension %zu has %lld elements, expected 1 or more", i, static_cast<long long>(size));
    if (size > std::min<int64_t>(kMaxElements / elements, std::numeric_limits<int32_t>::max()))
      fail("more than " FERRY_MAX_ELEMENTS " elements");
    elements *= size;
    shape[shape.rank++] = static_cast<int32_t>(size);
  }
  return shape;
}

Shape shape_of(const schema::Tensor& tensor) {
  if (count(tensor.shape()) > FERRY_MAX_RANK)
    fail("%u dimensions, at most %d can be run", count(tensor.shape()), FERRY_MAX_RANK);
  std::vector<int64_t> sizes;
  for (unsigned i = 0; i < count(tensor.shape()); ++i) sizes.push_back(tensor.shape()->Get(i));
  return to_shape(sizes);
}

Tensor add_constant(Graph& graph, const File& file, int tensor, Half half) {
  const schema::Tensor& t = file.tensor(tensor);
  const std::string name = file.tensor_name(tensor);
  const Shape shape = shape_of(t);
  const int bits = bits_of(t.type());
  if (bits == 0) fail("constant '%s' is %s", name.c_str(), type_name(t.type()));
  Constant data = dense_bytes(file, tensor, shape, bits);
  switch (t.type()) {
    case Type::FLOAT32:
      // A file may place it anywhere; readers of a Constant need aligned elements.
      if (reinterpret_cast<uintptr_t>(data.bytes.data()) % alignof(float) != 0)
        return graph.add_constant(name, shape, read_as<float, float>(data.bytes));
      return graph.add_constant(name, fbs::DType::Float32, shape, std::move(data));
    case Type::FLOAT16: {
      std::vector<uint16_t> halves = read_as<uint16_t, uint16_t>(data.bytes);
      if (half == Half::Keep) return graph.add_constant(name, fbs::DType::Float16, shape, hold(std::move(halves)));
      std::vector<float> values(halves.size());
      for (size_t i = 0; i < halves.size(); ++i) values[i] = from_float16(halves[i]);
      return graph.add_constant(name, shape, std::move(values));
    }
    case Type::FLOAT64: return graph.add_constant(name, shape, read_as<double, double>(data.bytes));
    default: break;
  }
  const std::vector<int64_t> values = integers(t.type(), data.bytes, static_cast<size_t>(shape.elements()));
  if (is_quantised(t)) return graph.add_constant(name, shape, dequantised(t, shape, values));
  std::vector<int32_t> narrow;
  narrow.reserve(values.size());
  for (const int64_t value : values) {
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
      fail("constant '%s' has an element beyond 32 bits", name.c_str());
    narrow.push_back(static_cast<int32_t>(value));
  }
  return graph.add_constant(name, shape, std::move(narrow));
}

std::vector<int64_t> integers_of(const File& file, int tensor) {
  const schema::Tensor& t = file.tensor(tensor);
  const std::span<const std::byte> bytes = file.bytes(tensor);
  if (bytes.empty()) return {};
  const Shape shape = shape_of(t);
  const Constant data = dense_bytes(file, tensor, shape, bits_of(t.type()));
  return integers(t.type(), data.bytes, static_cast<size_t>(shape.elements()));
}

}  // namespace ferry::tflite
