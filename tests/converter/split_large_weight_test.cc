#include "converter/passes/last_token.h"
#include "tests/converter/pass_network.h"

namespace ferry {
namespace {

// 140 MB of weights: more than the 2^27 bytes that every Vulkan device can bind.
Tensor large_weight(Network* n, const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 101) - 50;
  return n->graph.add_constant("large", shape, std::move(values));
}

TEST(SplitLargeWeight, ALinearBecomesSeveralOfSomeOfItsOutputs) {
  Network n;
  const Tensor x = n.input({1, 3500000});
  n.output(n.graph.add_op("linear", fbs::LinearT{}, {x, large_weight(&n, {10, 3500000}), n.constant({10}, 4)}));
  n.expect_same_after(split_large_weight);
  EXPECT_EQ(n.ops(), (Ops{kLinear, kLinear, fbs::OpParams::Concat}));
  for (const auto& op : n.graph.table.operators) EXPECT_EQ(op->name, "linear");
}

TEST(SplitLargeWeight, SoDoesAConvolution) {
  Network n;
  const Tensor x = n.input({1, 7, 7, 80000});
  fbs::Conv2dT params;
  params.output_min = 0;
  n.output(n.graph.add_op("conv", params, {x, large_weight(&n, {9, 7, 7, 80000}), n.constant({9}, 4)}));
  n.expect_same_after(split_large_weight);
  EXPECT_EQ(n.ops(), (Ops{kConv, kConv, fbs::OpParams::Concat}));
}

// The blob would store its parts in addition.
TEST(SplitLargeWeight, LeavesSharedWeights) {
  Network n;
  const Tensor x = n.input({1, 3500000}), large = large_weight(&n, {10, 3500000});
  n.output(n.graph.add_op("head", fbs::LinearT{}, {x, large}));
  n.output(n.graph.add_op("other", fbs::LinearT{}, {x, large}));
  n.expect_same_after(split_large_weight);
  EXPECT_EQ(n.ops(), (Ops{kLinear, kLinear}));
}

// The vocabulary of a language model: the parts' results are concatenated, then capped.
TEST(LastToken, IsTakenBeforeAllPartsOfTheHead) {
  Network n;
  const Tensor x = n.input({1, 3, 4});
  const Tensor y = tanh(n.linear(x, 6));
  std::vector<Tensor> parts;
  for (int i = 0; i < 3; ++i) parts.push_back(n.linear(y, 5));
  n.output(tanh(concat(parts) * 0.5) * 2);
  const std::vector<double> before = n.run();
  keep_last_token(&n.graph);
  EXPECT_EQ(n.run(), std::vector<double>(before.end() - 15, before.end()));
  EXPECT_EQ(n.ops(), (Ops{kLinear, fbs::OpParams::Unary, fbs::OpParams::Gather, kLinear, kLinear, kLinear,
                          fbs::OpParams::Concat, fbs::OpParams::Binary, fbs::OpParams::Unary, fbs::OpParams::Binary}));
  const auto& ops = n.graph.table.operators;
  for (size_t i = 3; i < 6; ++i) EXPECT_EQ(ops[i]->inputs.front(), ops[2]->outputs.front());
}

TEST(SplitLargeWeight, LeavesWeightsThatFit) {
  Network n;
  n.output(n.linear(n.input({2, 6}), 9));
  n.expect_same_after(split_large_weight);
  EXPECT_EQ(n.ops(), Ops{kLinear});
}

}  // namespace
}  // namespace ferry
