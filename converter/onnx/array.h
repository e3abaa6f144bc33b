// A constant of an ONNX file, of any of its types: weights, and the integers that shapes and indices are computed with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry::onnx {

// TensorProto.DataType of the format.
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
  BFloat16 = 16,
};

std::string type_name(Type type);
// Bytes of an element; 0 where an Array cannot hold the type (strings, complex numbers, 8-bit floats...).
size_t type_size(Type type);
bool is_float(Type type);

// As C++ casts it, clipped to the type's range; 0 for what is no number.
int64_t to_integer(double value);
inline int64_t to_integer(int64_t value) { return value; }
inline int64_t to_integer(bool value) { return value; }

using Dims = std::vector<int64_t>;

// "[2,3]"
std::string to_string(const Dims& dims);
// Throws Error where a dimension is negative or the product exceeds 2^40.
int64_t count_elements(const Dims& dims);
// The same for a constant that the converter is about to compute: throws Error above 2^28, and where all that this
// thread's conversion has computed are more than that and 16 times `stored`, what its file holds. A file of few bytes
// may ask for any number.
int64_t count_computed(const Dims& dims);
void begin_computing(int64_t stored);
// Row-major: how many elements lie between neighbours along each dimension.
Dims strides_of(const Dims& dims);
// The shape that two broadcast to, as NumPy does; throws Error where they do not.
Dims broadcast(const Dims& a, const Dims& b);

struct Array {
  Type type = Type::Undefined;
  Dims dims;
  Constant data;  // row-major, little-endian, type_size(type) bytes an element; a bool is one byte

  int64_t elements() const { return count_elements(dims); }
  std::vector<double> floats() const;    // of any type
  std::vector<int64_t> ints() const;     // of integers and bools; throws Error for others
  Array reshaped(const Dims& to) const;  // the same bytes
};

// Rounded to `type`; floating point becomes an integer as C++ casts it, clipped to the type's range.
Array make_array(Type type, const Dims& dims, const std::vector<double>& values);
// Integers wrap around.
Array make_array(Type type, const Dims& dims, const std::vector<int64_t>& values);
// A vector of int64.
Array make_vector(const std::vector<int64_t>& values);

// The array whose element i is element index[i] of `from`, in the same type.
Array gather_elements(const Array& from, const Dims& dims, const std::vector<int64_t>& index);
// Output dimension i is input dimension perm[i].
Array transpose(const Array& from, const std::vector<int>& perm);
Array expand(const Array& from, const Dims& dims);
// As ONNX's Cast does.
Array cast(const Array& from, Type type);

}  // namespace ferry::onnx
