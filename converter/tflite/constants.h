// Constants of a .tflite file as constants of a graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/tflite/file.h"

namespace ferry::tflite {

// "int8"
const char* type_name(schema::TensorType type);
bool is_float(schema::TensorType type);
// Integers with scales stand for real values.
bool is_quantised(const schema::Tensor& tensor);
// The type of an input or output in the framework. Throws Error for types that no graph has.
fbs::DType to_dtype(schema::TensorType type);
// Throws Error for a negative size, more than FERRY_MAX_RANK dimensions or too many elements.
Shape shape_of(const schema::Tensor& tensor);

// The same of sizes that an option gives.
Shape to_shape(std::span<const int64_t> sizes);

// How the bytes of a float16 constant enter the graph: unchanged, for weights of convolutions and linear layers, or as
// float32, for any other operator.
enum class Half : uint8_t { Keep, Widen };

// float32 and float16 as they are; integers with scales as the float32 values that they stand for; other integers and
// booleans as Int32; sparse ones dense. Bytes stay in the file if possible. Throws Error if the bytes do not fit.
Tensor add_constant(Graph& graph, const File& file, int tensor, Half half);

// The values of an integer constant, row-major; empty if it has no elements.
std::vector<int64_t> integers_of(const File& file, int tensor);

}  // namespace ferry::tflite
