#include "tests/converter/pass_network.h"

namespace ferry {
namespace {

// Queries, keys and values from one linear of 15 channels, added up so that each must be right.
TEST(SplitLinear, EachPartBecomesALinear) {
  Network n;
  const Tensor all = n.linear(n.input({2, 7, 6}), 15);
  n.output(slice(all, -1, 0, 5) * slice(all, -1, 5, 5) + slice(all, -1, 10, -1));
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
