// Runs one operator in a blob on the CPU and the GPUs under test, and compares with the oracle.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/reference/reference.h"

namespace ferry::testing {

// An input of the operator under test, with reproducible values in [low, high); integers for Int32.
struct Operand {
  Shape shape;
  bool constant = false;
  // For constants only: Float16, or Int8 and Int4 as converter/quantize stores them.
  fbs::DType dtype = fbs::DType::Float32;
  double low = -1, high = 1;
  std::vector<double> values = {};  // explicit values, instead of random ones
  bool float16_scales = false;      // of Int8 and Int4: in blocks of 32 along the last dimension, as files have them
};

inline Operand input(Shape shape, double low = -1, double high = 1) {
  return {shape, false, fbs::DType::Float32, low, high};
}
inline Operand constant(Shape shape, double low = -1, double high = 1) {
  return {shape, true, fbs::DType::Float32, low, high};
}
inline Operand ints(Shape shape, double low, double high) { return {shape, false, fbs::DType::Int32, low, high}; }
inline Operand int_constant(Shape shape, double low, double high) {
  return {shape, true, fbs::DType::Int32, low, high};
}
// Explicit Float32 or Int32 values.
inline Operand given(Shape shape, std::vector<double> values, fbs::DType dtype = fbs::DType::Float32) {
  return {shape, false, dtype, 0, 0, std::move(values)};
}
inline Operand float16_constant(Shape shape, double low = -1, double high = 1) {
  return {shape, true, fbs::DType::Float16, low, high};
}

// Int8 with one scale per index of the first dimension; Int4 in blocks of 32 along the last.
inline Operand bytes_constant(Shape shape, double low = -1, double high = 1) {
  return {shape, true, fbs::DType::Int8, low, high};
}
inline Operand nibbles_constant(Shape shape, double low = -1, double high = 1) {
  return {shape, true, fbs::DType::Int4, low, high};
}

// Int8 or Int4 in blocks of 32 with Float16 scales of either sign.
inline Operand blocks_constant(fbs::DType dtype, Shape shape) {
  return {.shape = shape, .constant = true, .dtype = dtype, .float16_scales = true};
}

// An output's values; Int32 is stored in the bits of the floats.
std::vector<double> numbers(const std::vector<float>& memory, fbs::DType dtype);

// Maximum |got - expected| over the maximum |expected|. NaN counts as infinite.
double normalised_error(const std::vector<double>& got, const std::vector<double>& expected);

// Packs a graph of that operator and runs its blob: with 1 and with 3 threads, after a resize, in place if the operator
// allows it, and in float16 if the CPU and the operator support it, within the GPUs' bounds. Expects every run to give
// the same bits, to write nothing outside its output, and to be within `bound` of the oracle (normalised_error).
// Then the same on every GPU under test (gpu_runs.h), within `gpu_bound` if given. GPUs must leave the operator to the
// CPU if `left_to_cpu` is set or it has an Int32 operand other than expert indices or indices into rows. The CPU, and
// its oracle, quantizes the rows that are multiplied with quantized weights; GPUs do not.
// Returns the CPU's output for further checks; empty after a failure.
std::vector<float> expect_like_oracle(const fbs::OpParamsUnion& params, const std::vector<Operand>& operands,
                                      double bound, std::optional<double> gpu_bound = {}, bool left_to_cpu = false);

template <typename Params>
std::vector<float> expect_like_oracle(Params params, const std::vector<Operand>& operands, double bound,
                                      std::optional<double> gpu_bound = {}, bool left_to_cpu = false) {
  fbs::OpParamsUnion any;
  any.Set(std::move(params));
  return expect_like_oracle(any, operands, bound, gpu_bound, left_to_cpu);
}

// The oracle's output for explicit values.
template <typename Params>
reference::Array oracle(Params params, const std::vector<reference::Array>& inputs) {
  fbs::OperatorT op;
  op.params.Set(std::move(params));
  std::vector<const reference::Array*> pointers;
  for (const reference::Array& input : inputs) pointers.push_back(&input);
  const SerializedOp serialized(op);
  return reference::compute(*serialized, pointers);
}

// 0, 1, 2...
std::vector<double> counting(size_t count);

}  // namespace ferry::testing
