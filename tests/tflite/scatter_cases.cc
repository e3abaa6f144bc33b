// Operators that write by indices, and convolutions in 3D.
#include "tests/tflite/operator_cases.h"

namespace ferry::testing::scatters {
namespace {

using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Padding = schema::Padding;
using Shape = FileBuilder::Shape;
using Type = FileBuilder::Type;
using Outputs = std::vector<int>;

int add(FileBuilder& b, Op op, const std::vector<int>& inputs, int to, Kind kind, flatbuffers::Offset<void> options) {
  b.op(op, inputs, {to}, kind, options);
  return to;
}

Outputs atan2(FileBuilder& b) {
  const int y = b.input({3, 4, 5}), x = b.input({3, 4, 5});
  return {add(b, Op::ATAN2, {y, x}, b.activation({3, 4, 5}), Kind::ATan2Options,
              schema::CreateATan2Options(b.fbb).Union())};
}

// The axes and the origin.
Outputs atan2_of_axes(FileBuilder& b) {
  const int y = b.constant({9}, std::vector<float>{-2, -2, -2, 0, 0, 0, 2, 2, 2});
  const int x = b.constant({9}, std::vector<float>{-1, 0, 1, -1, 0, 1, -1, 0, 1}), sum = b.activation({9});
  const int zero = b.input({1}), none = b.activation({1});
  b.op(Op::MUL, {zero, b.constant({1}, std::vector<float>{0})}, {none}, Kind::MulOptions,
       schema::CreateMulOptions(b.fbb).Union());
  b.op(Op::ADD, {y, none}, {sum}, Kind::AddOptions, schema::CreateAddOptions(b.fbb).Union());
  return {
      add(b, Op::ATAN2, {sum, x}, b.activation({9}), Kind::ATan2Options, schema::CreateATan2Options(b.fbb).Union())};
}

Outputs segment_sum(FileBuilder& b) {
  return {add(b, Op::SEGMENT_SUM, {b.input({6, 3}), b.vector({0, 0, 1, 2, 2, 3})}, b.activation({4, 3}),
              Kind::SegmentSumOptions, schema::CreateSegmentSumOptions(b.fbb).Union())};
}

constexpr Kind kUnsorted[] = {Kind::UnsortedSegmentSumOptions, Kind::UnsortedSegmentProdOptions,
                              Kind::UnsortedSegmentMaxOptions, Kind::UnsortedSegmentMinOptions};

flatbuffers::Offset<void> unsorted_options(FileBuilder& b, Op op) {
  switch (op) {
    case Op::UNSORTED_SEGMENT_SUM: return schema::CreateUnsortedSegmentSumOptions(b.fbb).Union();
    case Op::UNSORTED_SEGMENT_PROD: return schema::CreateUnsortedSegmentProdOptions(b.fbb).Union();
    case Op::UNSORTED_SEGMENT_MAX: return schema::CreateUnsortedSegmentMaxOptions(b.fbb).Union();
    default: return schema::CreateUnsortedSegmentMinOptions(b.fbb).Union();
  }
}

// Some rows have no segment, and segment 3 no rows.
template <Op op, size_t kind>
Outputs unsorted(FileBuilder& b) {
  return {add(b, op, {b.input({6, 3}), b.vector({4, 0, -1, 2, 0, 1}), b.scalar(5)}, b.activation({5, 3}),
              kUnsorted[kind], unsorted_options(b, op))};
}

// Segments of the elements of matrices, which a run gives.
template <Op op, size_t kind>
Outputs unsorted_computed(FileBuilder& b) {
  const int x = b.input({2, 3, 2}, Type::INT32), ids = b.input({2, 3}, Type::INT32);
  return {
      add(b, op, {x, ids, b.scalar(4)}, b.activation({4, 2}, Type::INT32), kUnsorted[kind], unsorted_options(b, op))};
}

int to_dense(FileBuilder& b, int indices, const std::vector<int32_t>& shape, int values, int otherwise, Type type) {
  return add(b, Op::SPARSE_TO_DENSE, {indices, b.vector(shape), values, otherwise}, b.activation(shape, type),
             Kind::SparseToDenseOptions, schema::CreateSparseToDenseOptions(b.fbb).Union());
}

Outputs sparse_to_dense(FileBuilder& b) {
  const int values = b.input({3}), otherwise = b.constant({}, std::vector<float>{-1.5f});
  const int indices = b.constant({3, 2}, std::vector<int32_t>{0, 1, 2, 0, 2, 3});
  return {to_dense(b, indices, {3, 4}, values, otherwise, Type::FLOAT32)};
}

Outputs sparse_to_dense_of_a_list(FileBuilder& b) {
  const int indices = b.input({1}, Type::INT32), values = b.input({}, Type::INT32);
  return {to_dense(b, indices, {6}, values, b.scalar(7), Type::INT32)};
}

template <Padding padding, int stride, int dilation>
Outputs conv_3d(FileBuilder& b) {
  const Shape out = padding == Padding::SAME
                        ? Shape{2, (5 + stride - 1) / stride, (6 + stride - 1) / stride, (7 + stride - 1) / stride, 3}
                        : Shape{2, (5 - 2 * dilation - 1) / stride + 1, (6 - dilation - 1) / stride + 1,
                                (7 - 2 * dilation - 1) / stride + 1, 3};
  const int x = b.input({2, 5, 6, 7, 2}), filter = b.random({3, 2, 3, 2, 3}, 1), bias = b.random({3}, 2);
  return {add(b, Op::CONV_3D, {x, filter, bias}, b.activation(out), Kind::Conv3DOptions,
              schema::CreateConv3DOptions(b.fbb, padding, stride, stride, stride, schema::ActivationFunctionType::RELU,
                                          dilation, dilation, dilation)
                  .Union())};
}

template <Padding padding, int stride, bool bias>
Outputs conv_3d_transpose(FileBuilder& b) {
  const auto side = [](int size, int kernel) {
    return padding == Padding::SAME ? size * stride : (size - 1) * stride + kernel;
  };
  const Shape out = {2, side(3, 3), side(4, 2), side(2, 3), 3};
  const int shape = b.vector(out), x = b.input({2, 3, 4, 2, 2}), filter = b.random({3, 2, 3, 3, 2}, 1);
  std::vector<int> inputs = {shape, filter, x};
  if (bias) inputs.push_back(b.random({3}, 2));
  return {add(b, Op::CONV_3D_TRANSPOSE, inputs, b.activation(out), Kind::Conv3DOptions,
              schema::CreateConv3DOptions(b.fbb, padding, stride, stride, stride).Union())};
}

}  // namespace

const std::vector<OperatorCase>& cases() {
  static const std::vector<OperatorCase> kCases = {
      {"atan2", atan2},
      {"atan2_of_axes", atan2_of_axes},
      {"conv_3d_dilated", conv_3d<Padding::SAME, 1, 2>},
      {"conv_3d_same", conv_3d<Padding::SAME, 2, 1>},
      {"conv_3d_transpose_same", conv_3d_transpose<Padding::SAME, 2, true>},
      {"conv_3d_transpose_valid", conv_3d_transpose<Padding::VALID, 1, false>},
      {"conv_3d_transpose_wide", conv_3d_transpose<Padding::VALID, 3, true>},
      {"conv_3d_valid", conv_3d<Padding::VALID, 1, 1>},
      {"segment_sum", segment_sum},
      {"sparse_to_dense", sparse_to_dense},
      {"sparse_to_dense_of_a_list", sparse_to_dense_of_a_list},
      {"unsorted_segment_max", unsorted<Op::UNSORTED_SEGMENT_MAX, 2>},
      {"unsorted_segment_max_computed", unsorted_computed<Op::UNSORTED_SEGMENT_MAX, 2>},
      {"unsorted_segment_min", unsorted<Op::UNSORTED_SEGMENT_MIN, 3>},
      {"unsorted_segment_prod", unsorted<Op::UNSORTED_SEGMENT_PROD, 1>},
      {"unsorted_segment_sum", unsorted<Op::UNSORTED_SEGMENT_SUM, 0>},
      {"unsorted_segment_sum_computed", unsorted_computed<Op::UNSORTED_SEGMENT_SUM, 0>},
  };
  return kCases;
}

}  // namespace ferry::testing::scatters
