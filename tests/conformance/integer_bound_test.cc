// Bounds of integers that a graph computes (converter/onnx/ops/integer_bound.h).
#include "converter/onnx/ops/integer_bound.h"

#include <gtest/gtest.h>

namespace ferry::testing {
namespace {

using Binary = fbs::BinaryKind;

Tensor add_vector(Graph* graph, fbs::DType type) { return graph->add_input("x", Shape{1, 5}, fbs::Layout::Same, type); }

TEST(IntegerBound, OfPositionsIsTheLengthWhateverTheValues) {
  Graph graph;
  const Tensor x = unary(add_vector(&graph, fbs::DType::Float32), fbs::UnaryKind::Sigmoid);
  EXPECT_EQ(onnx::integer_bound(graph.add_op("", fbs::TopKT{}, {x})), 5);
}

TEST(IntegerBound, OfAQuotientIsKnownForIntegersOnly) {
  Graph graph;
  const Tensor x = unary(add_vector(&graph, fbs::DType::Float32), fbs::UnaryKind::Clamp, 0, 6);
  EXPECT_EQ(onnx::integer_bound(cast_to(x, fbs::DType::Int32)), 6);
  const Tensor scaled = binary(Binary::Div, x, scalar(x, 1e-6));
  EXPECT_EQ(onnx::integer_bound(cast_to(scaled, fbs::DType::Int32)), 0x1p31);
  const Tensor n = cast_to(x, fbs::DType::Int32);
  EXPECT_EQ(onnx::integer_bound(binary(Binary::Div, n, scalar(n, 2))), 6);
}

// Each sum reads the one before twice: 2^100 paths.
TEST(IntegerBound, TakesBoundedWork) {
  Graph graph;
  Tensor x = unary(add_vector(&graph, fbs::DType::Float32), fbs::UnaryKind::Sigmoid);
  x = cast_to(x, fbs::DType::Int32);
  for (int i = 0; i < 3; ++i) x = x + x;
  EXPECT_EQ(onnx::integer_bound(x), 8);
  for (int i = 0; i < 100; ++i) x = x + x;
  EXPECT_EQ(onnx::integer_bound(x), 0x1p31);
}

}  // namespace
}  // namespace ferry::testing
