// What values lie between (converter/onnx/ops/value_range.h).
#include "converter/onnx/ops/value_range.h"

#include <gtest/gtest.h>

namespace ferry::testing {
namespace {

using Binary = fbs::BinaryKind;

// Boxes [6,4] as torchvision clips them: x to 0..70 and y to 0..50, in pairs of corners.
Tensor add_boxes(Graph* graph) {
  const Tensor corners = graph->add_input("corners", Shape{6, 2, 2}, fbs::Layout::Same, fbs::DType::Float32);
  const auto clipped = [&](int i, double size) {
    const Tensor side = reshape(slice(corners, 2, i, 1), {6, 2});
    const Tensor positive = binary(Binary::Max, side, scalar(side, 0));
    return reshape(binary(Binary::Min, positive, scalar(side, size)), {6, 2, 1});
  };
  return reshape(concat({clipped(0, 70), clipped(1, 50)}, 2), {6, 4});
}

Tensor gathered(Tensor x, int axis, std::vector<int32_t> indices) {
  fbs::GatherT gather;
  gather.axis = axis;
  const Shape shape{static_cast<int32_t>(indices.size())};
  return x.graph->add_op("", gather, {x, x.graph->add_constant("", shape, std::move(indices))});
}

void expect_range(Tensor x, double low, double high) {
  const onnx::Range range = onnx::range_of(x);
  EXPECT_EQ(range.low, low);
  EXPECT_EQ(range.high, high);
}

TEST(ValueRange, OfColumnsOfBoxes) {
  Graph graph;
  const Tensor boxes = add_boxes(&graph);
  expect_range(boxes, 0, 70);
  for (const Tensor& some :
       {boxes, slice(boxes, 0, 2, 3), gathered(boxes, 0, {5, 0, 5}), reshape(reshape(boxes, {2, 3, 4}), {6, 4})}) {
    expect_range(gathered(some, 1, {3}), 0, 50);
    expect_range(gathered(some, 1, {-2}), 0, 70);
    expect_range(gathered(some, 1, {1, 0}), 0, 70);
    expect_range(slice(some, 1, 0, 1), 0, 70);
    expect_range(slice(some, 1, 1, 1), 0, 50);
    expect_range(slice(some, 1, 2, 1), 0, 70);
    expect_range(slice(some, 1, 3, 1), 0, 50);
    expect_range(slice(some, 1, 1, 2), 0, 70);
    expect_range(transpose(some, {1, 0}), 0, 70);
  }
}

TEST(ValueRange, OfSizesOfBoxes) {
  Graph graph;
  const Tensor boxes = add_boxes(&graph);
  const Tensor height = slice(boxes, 1, 3, 1) - slice(boxes, 1, 1, 1);
  expect_range(height, -50, 50);
  expect_range(unary(unary(height, fbs::UnaryKind::Clamp, 1, 1e9), fbs::UnaryKind::Ceil), 1, 50);
  expect_range(select(binary(Binary::Less, height, scalar(height, 3)), height, scalar(height, 99)), -50, 99);
  expect_range(height + scalar(height, 7), -43, 57);
}

// Constants have rows and columns, too.
TEST(ValueRange, OfConstants) {
  Graph graph;
  const Tensor table = graph.add_constant("", Shape{2, 3}, std::vector<double>{1, 5, 9, 2, 6, 10});
  expect_range(table, 1, 10);
  expect_range(slice(table, 1, 1, 1), 5, 6);
}

TEST(ValueRange, IsUnknownForOtherOperators) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Graph graph;
  expect_range(add_boxes(&graph) * 2.0, -kInfinity, kInfinity);
}

// Each sum reads the one before twice: 2^100 paths.
TEST(ValueRange, TakesBoundedWork) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Graph graph;
  Tensor x = add_boxes(&graph);
  for (int i = 0; i < 100; ++i) x = x + x;
  expect_range(x, -kInfinity, kInfinity);
  expect_range(binary(Binary::Min, x, scalar(x, 8)), -kInfinity, 8);
}

}  // namespace
}  // namespace ferry::testing
