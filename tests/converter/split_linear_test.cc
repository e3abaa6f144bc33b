#include "tests/converter/pass_network.h"

namespace ferry {
namespace {

// Queries, keys and values from one linear of 15 channels, added up so that each must be right.
TEST(SplitLinear, EachPartBecomesALinear) {
  Network n;
  const Tensor all = n.linear(n.input({2, 7, 6}), 15);
  const Tensor q = slice(all, -1, 0, 5), k = slice(all, -1, 5, 5), v = slice(all, -1, 10, -1);
  n.output(q * k + v);
  n.expect_same_after(split_linear);
  EXPECT_EQ(n.ops(), (Ops{kLinear, kLinear, kLinear, kBinary, kBinary}));
}

TEST(SplitLinear, LeavesALinearThatIsReadWhole) {
  Network n;
  const Tensor all = n.linear(n.input({2, 7, 10}), 10);
  n.output(concat({slice(all, -1, 0, 5), slice(all, -1, 5, 5)}) + all);
  n.expect_same_after(split_linear);
  EXPECT_EQ(n.ops().front(), kLinear);
  EXPECT_EQ(n.ops().size(), 5u);
}

// Such as the keys and values of a fused weight in bfloat16, which is widened on demand.
TEST(SplitLinear, PartsOfAComputedWeightStayApartInOtherGraphs) {
  Network n;
  const Tensor x = n.input({2, 7, 6});
  Constant weight;
  weight.owner = std::make_shared<const char>();
  weight.size = 10 * 6 * sizeof(double);
  weight.compute = [] { return hold(noise(10 * 6, 3)); };
  const Tensor all = n.graph.add_op(
      "linear", fbs::LinearT{}, {x, n.graph.add_constant("weight", fbs::DType::Float64, {10, 6}, std::move(weight))});
  n.output(slice(all, -1, 0, 5) - slice(all, -1, 5, 5));
  n.expect_same_after(split_linear);
  n.graph.add_graph(std::move(*n.graph.copy()));
  const auto& ops = n.graph.table.graphs.front()->operators;
  const auto buffer = [&](size_t op) {
    return n.graph.table.graphs.front()->tensors[index_of(ops[op]->inputs[1])]->buffer;
  };
  EXPECT_NE(buffer(0), buffer(1));
  EXPECT_EQ(buffer(0), n.graph.at(n.graph.table.operators[0]->inputs[1]).buffer)
      << "a graph and its copy share a weight";
}

// As exporters write it: channels are reshaped to three times heads and widths, and each of the three is sliced.
TEST(SliceBeforeReshape, PartsOfSplitChannelsAreCutBefore) {
  Network n;
  const Tensor all = reshape(n.linear(n.input({2, 7, 6}), 24), {2, 7, 3, 2, 4});
  const Tensor q = slice(all, 2, 0, 1), k = slice(all, 2, 1, 1), v = slice(all, 2, 2, 1);
  n.output(q * k + v);
  n.expect_same_after(slice_before_reshape);
  EXPECT_EQ(n.ops(), (Ops{kLinear, kSlice, kReshape, kSlice, kReshape, kSlice, kReshape, kBinary, kBinary}));
  n.expect_same_after(split_linear);
  EXPECT_EQ(n.ops(), (Ops{kLinear, kReshape, kLinear, kReshape, kLinear, kReshape, kBinary, kBinary}));
}

TEST(SliceBeforeReshape, LeavesPartsThatLieApart) {
  Network n;
  const Tensor x = reshape(n.linear(n.input({2, 7, 6}), 24), {2, 7, 6, 4});
  n.output(slice(x, 3, 1, 2));
  const Ops before = n.ops();
  n.expect_same_after(slice_before_reshape);
  EXPECT_EQ(n.ops(), before);
}

TEST(SliceBeforeReshape, LeavesPartsOfJoinedDimensions) {
  Network n;
  n.output(slice(reshape(n.input({2, 7, 6}), {2, 42}), 1, 6, 12));
  const Ops before = n.ops();
  n.expect_same_after(slice_before_reshape);
  EXPECT_EQ(n.ops(), before);
}

// A linear with a separate bias is folded first; the second round of split_linear recognises it.
TEST(SplitLinear, FollowsABiasThatIsFolded) {
  Network n;
  const Tensor all = n.linear(n.input({2, 7, 6}), 10) + n.constant({10}, 8);
  n.output(slice(all, -1, 0, 5) * slice(all, -1, 5, 5));
  n.expect_same_after(run_passes);
  EXPECT_EQ(n.ops(), (Ops{kLinear, kLinear, kBinary}));
}

TEST(SplitLinear, LeavesPartsOfOtherDimensions) {
  Network n;
  n.output(slice(n.linear(n.input({2, 7, 6}), 4), 1, 0, 3));
  n.expect_same_after(split_linear);
  EXPECT_EQ(n.ops().size(), 2u);
}

TEST(SplitLinear, KeepsAValueThatIsTapped) {
  Network n;
  const Tensor all = n.linear(n.input({1, 3, 6}), 4);
  n.graph.add_tap("qkv", all, fbs::Layout::Same, true);
  n.output(slice(all, -1, 1, 2));
  n.expect_same_after(split_linear);
  EXPECT_EQ(n.ops().size(), 2u);
}

}  // namespace
}  // namespace ferry
