#include "tests/support/loop_network.h"

#include "converter/graph/elementary.h"
#include "converter/graph/ops.h"

namespace ferry::testing {

std::unique_ptr<Graph> loop_network() {
  using Kind = fbs::BinaryKind;
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  const Tensor x = g.add_input("x", {5, 4}, fbs::Layout::Same);
  const Tensor count = g.add_input("count", {1}, fbs::Layout::Same, fbs::DType::Int32);
  const Tensor zeros = g.add_constant("zeros", Shape{4}, std::vector<float>(4, 0));
  const Tensor ones = g.add_constant("ones", Shape{4}, std::vector<float>(4, 1));
  const auto outer = g.add_op_with_outputs("outer", fbs::LoopBeginT(), {x, count, zeros, ones}, 3);
  const Tensor index = outer[0], a = outer[1], b = outer[2];
  fbs::GatherT gather;
  const Tensor row = g.add_op("row", gather, {x, g.add_op("index", fbs::ReshapeT(), {index})});
  const Tensor sum = unary(binary(Kind::Add, a, row), fbs::UnaryKind::Tanh);

  const Tensor three = g.add_constant("three", Shape{3, 1}, std::vector<float>(3, 0));
  const Tensor all = g.add_constant("all", Shape{1}, std::vector<int32_t>{-1});
  const Tensor on = g.add_constant("on", Shape{1}, std::vector<int32_t>{1});
  const auto inner = g.add_op_with_outputs("inner", fbs::LoopBeginT(), {three, all, sum}, 2);
  const Tensor decayed = binary(Kind::Sub, inner[1], binary(Kind::Mul, b, scalar(b, 0.125)));
  fbs::LoopEndT end;
  end.states = 1;
  const auto after = g.add_op_with_outputs("inner", end, {three, inner[0], all, on, inner[1], decayed}, 2);

  const Tensor next = binary(
      Kind::Add, after[1],
      binary(Kind::Mul, x.graph->add_op("first", gather, {x, g.add_constant("zero", Shape{}, std::vector<int32_t>{0})}),
             scalar(b, 0.5)));
  fbs::ReduceT most;
  most.kind = fbs::ReduceKind::Max;
  most.axes = {0};
  most.keep_dims = true;
  const Tensor small = binary(Kind::Less, g.add_op("most", most, {next}), scalar(next, 6));
  end.states = 2;
  const auto results =
      g.add_op_with_outputs("outer", end, {x, index, count, small, a, b, b, next, unary(next, fbs::UnaryKind::Neg)}, 4);
  g.add_output("steps", results[0], fbs::Layout::Same, fbs::DType::Int32);
  for (size_t i = 1; i < results.size(); ++i) g.add_output("y" + std::to_string(i), results[i], fbs::Layout::Same);
  return graph;
}

}  // namespace ferry::testing
