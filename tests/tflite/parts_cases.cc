// Operators that replace parts of a tensor.
#include "tests/tflite/operator_cases.h"

namespace ferry::testing::parts {
namespace {

using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Shape = FileBuilder::Shape;
using Type = FileBuilder::Type;
using Outputs = std::vector<int>;

int add(FileBuilder& b, Op op, const std::vector<int>& inputs, int to, Kind kind, flatbuffers::Offset<void> options) {
  b.op(op, inputs, {to}, kind, options);
  return to;
}

Outputs matrix_diag(FileBuilder& b) {
  return {add(b, Op::MATRIX_DIAG, {b.input({2, 3})}, b.activation({2, 3, 3}), Kind::MatrixDiagOptions,
              schema::CreateMatrixDiagOptions(b.fbb).Union())};
}

template <int height, int width>
Outputs matrix_set_diag(FileBuilder& b) {
  const int x = b.input({2, height, width}), diagonal = b.input({2, std::min(height, width)});
  return {add(b, Op::MATRIX_SET_DIAG, {x, diagonal}, b.activation({2, height, width}), Kind::MatrixSetDiagOptions,
              schema::CreateMatrixSetDiagOptions(b.fbb).Union())};
}

Outputs bucketize(FileBuilder& b) {
  const auto list = b.fbb.CreateVector(std::vector<float>{-2, 0, 0.5f, 3});
  return {add(b, Op::BUCKETIZE, {b.input({3, 4})}, b.activation({3, 4}, Type::INT32), Kind::BucketizeOptions,
              schema::CreateBucketizeOptions(b.fbb, list).Union())};
}

template <int steps_at, int batch_at>
Outputs reverse_sequence(FileBuilder& b) {
  const Shape shape = {3, 4, 5};
  const int x = b.input(shape);
  std::vector<int32_t> lengths;
  for (int i = 0; i < shape[batch_at]; ++i) lengths.push_back(i % shape[steps_at] + 1);
  return {add(b, Op::REVERSE_SEQUENCE, {x, b.vector(lengths)}, b.activation(shape), Kind::ReverseSequenceOptions,
              schema::CreateReverseSequenceOptions(b.fbb, steps_at, batch_at).Union())};
}

Outputs reverse_sequence_computed(FileBuilder& b) {
  const int x = b.input({2, 5}), lengths = b.input({2}, Type::INT32);
  return {add(b, Op::REVERSE_SEQUENCE, {x, lengths}, b.activation({2, 5}), Kind::ReverseSequenceOptions,
              schema::CreateReverseSequenceOptions(b.fbb, 1, 0).Union())};
}

Outputs update_slice(FileBuilder& b) {
  const int x = b.input({4, 5, 3}), update = b.input({2, 5, 2});
  return {add(b, Op::DYNAMIC_UPDATE_SLICE, {x, update, b.vector({3, 0, 1})}, b.activation({4, 5, 3}),
              Kind::DynamicUpdateSliceOptions, schema::CreateDynamicUpdateSliceOptions(b.fbb).Union())};
}

Outputs update_slice_computed(FileBuilder& b) {
  const int x = b.input({4, 5}), update = b.input({1, 5}), at = b.input({2}, Type::INT32);
  return {add(b, Op::DYNAMIC_UPDATE_SLICE, {x, update, at}, b.activation({4, 5}), Kind::DynamicUpdateSliceOptions,
              schema::CreateDynamicUpdateSliceOptions(b.fbb).Union())};
}

}  // namespace

const std::vector<OperatorCase>& cases() {
  static const std::vector<OperatorCase> kCases = {
      {"bucketize", bucketize},
      {"matrix_diag", matrix_diag},
      {"matrix_set_diag", matrix_set_diag<3, 3>},
      {"matrix_set_diag_tall", matrix_set_diag<4, 3>},
      {"matrix_set_diag_wide", matrix_set_diag<2, 3>},
      {"reverse_sequence", reverse_sequence<1, 0>},
      {"reverse_sequence_computed", reverse_sequence_computed},
      {"reverse_sequence_first", reverse_sequence<0, 2>},
      {"update_slice", update_slice},
      {"update_slice_computed", update_slice_computed},
  };
  return kCases;
}

}  // namespace ferry::testing::parts
