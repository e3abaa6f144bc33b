// Runs one operator as a blob would, on the CPU and on the GPUs under test, and compares it with the oracle.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/reference/reference.h"

namespace ferry::testing {

// An input of the operator under test, with values on [low, high) that are the same in every run; whole ones for Int32.
struct Operand {
  Shape shape;
  bool constant = false;
  // Constants only: Float16, and Int8 and Int4 as converter/quantize stores them.
  fbs::DType dtype = fbs::DType::Float32;
  double low = -1, high = 1;
  std::vector<double> values = {};  // instead, where there are any
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
// Float32, or Int32, that is written out.
inline Operand given(Shape shape, std::vector<double> values, fbs::DType dtype = fbs::DType::Float32) {
  return {shape, false, dtype, 0, 0, std::move(values)};
}
inline Operand float16_constant(Shape shape, double low = -1, double high = 1) {
  return {shape, true, fbs::DType::Float16, low, high};
}

// Int8 with a scale an index of the first dimension; Int4 in blocks of 32 along the last.
inline Operand bytes_constant(Shape shape, double low = -1, double high = 1) {
  return {shape, true, fbs::DType::Int8, low, high};
}
inline Operand nibbles_constant(Shape shape, double low = -1, double high = 1) {
  return {shape, true, fbs::DType::Int4, low, high};
}

// What an output of the library holds, as numbers; Int32 lies in the bits of its floats.
std::vector<double> numbers(const std::vector<float>& memory, fbs::DType dtype);

// Largest |got - expected| over the largest |expected|. Anything that is not a number counts as infinite.
double normalised_error(const std::vector<double>& got, const std::vector<double>& expected);

// Packs a graph of that one operator, opens the blob, runs it with 1 and with 3 threads, after a resize and, where the
// operator allows, in place, and with halves where the CPU and the operator compute with them, as GPUs are held to.
// Expects every run to give the same bits, to write nothing outside its output, and to lie within `bound` of the oracle
// (normalised_error). Then the same on every GPU under test (gpu_runs.h), within `gpu_bound` where one is given, where
// they leave the operator to the CPU if `left_to_cpu` says so or there is an Int32 at it that is no expert's number and
// no place in a row. The CPU rounds the rows that quantised weights are multiplied with, and so does its oracle; GPUs
// take them as they are. Gives the CPU's output for further checks; empty where something failed.
std::vector<float> expect_like_oracle(const fbs::OpParamsUnion& params, const std::vector<Operand>& operands,
                                      double bound, std::optional<double> gpu_bound = {}, bool left_to_cpu = false);

template <typename Params>
std::vector<float> expect_like_oracle(Params params, const std::vector<Operand>& operands, double bound,
                                      std::optional<double> gpu_bound = {}, bool left_to_cpu = false) {
  fbs::OpParamsUnion any;
  any.Set(std::move(params));
  return expect_like_oracle(any, operands, bound, gpu_bound, left_to_cpu);
}

// The oracle's output for values written out.
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
