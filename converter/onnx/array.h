// A constant of an ONNX file, of any type: weights, and integers for shapes and indices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry::onnx {

// ONNX's TensorProto.DataType.
enum class Type : int {
  Undefined = 0,
  Float32 = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Float64 = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
};

std::string type_name(Type type);
// Bytes per element of an Array; 0 for types that it does not support (strings, complex numbers). Elements of 2 and 4
// bits take a byte each, integers sign-extended.
size_t type_size(Type type);
// Bits per element in a file.
int type_bits(Type type);
bool is_float(Type type);
// Floating point of 4 or 8 bits: constants of these types are read, none is computed.
bool is_small_float(Type type);

// Truncates towards zero and saturates to the type's range; NaN becomes 0.
int64_t to_integer(double value);
inline int64_t to_integer(int64_t value) { return value; }
inline int64_t to_integer(bool value) { return value; }

using Dims = std::vector<int64_t>;

// "[2,3]"
std::string to_string(const Dims& dims);
// Throws Error if a dimension is negative or the product exceeds 2^40.
int64_t count_elements(const Dims& dims);
// The same for a constant that the converter will compute. Throws Error above 2^28, and if the total computed by this
// thread's conversion exceeds 2^28 plus 16 times `stored`, the number of elements in the file: a small file must not be
// able to request unlimited memory.
int64_t count_computed(const Dims& dims);
void begin_computing(int64_t stored);
// Row-major strides, in elements.
Dims strides_of(const Dims& dims);
// The broadcast shape, as in NumPy. Throws Error if the shapes are incompatible.
Dims broadcast(const Dims& a, const Dims& b);

struct Array {
  Type type = Type::Undefined;
  Dims dims;
  Constant data;  // row-major, little-endian, type_size(type) bytes per element; a bool is one byte

  int64_t elements() const { return count_elements(dims); }
  std::vector<double> floats() const;    // of any type
  std::vector<int64_t> ints() const;     // of integers and bools; throws Error for other types
  Array reshaped(const Dims& to) const;  // shares the bytes
};

// Rounds to `type`; integers are truncated and saturated to the type's range.
Array make_array(Type type, const Dims& dims, const std::vector<double>& values);
// Integers wrap.
Array make_array(Type type, const Dims& dims, const std::vector<int64_t>& values);
// A vector of int64.
Array make_vector(const std::vector<int64_t>& values);

// Element i of the result is element index[i] of `from`, of the same type.
Array gather_elements(const Array& from, const Dims& dims, const std::vector<int64_t>& index);
// Dimension i of the output is dimension perm[i] of the input. While one is in use, the same array transposed again
// shares its bytes.
Array transpose(const Array& from, const std::vector<int>& perm);
Array expand(const Array& from, const Dims& dims);
// ONNX's Cast.
Array cast(const Array& from, Type type);

}  // namespace ferry::onnx
