#include "tests/converter/pass_network.h"

namespace ferry {
namespace {

// Three heads of 1, 4 and 10 outputs, concatenated, so that each must be right.
TEST(JoinSiblings, HeadsThatReadOneMapBecomeOne) {
  Network n;
  const Tensor map = n.input({2, 5, 6, 8});
  n.output(concat({n.conv(map, 10, 1, true), n.conv(map, 1, 1, false), n.conv(map, 4, 1, true)}));
  n.expect_same_after(join_siblings);
  EXPECT_EQ(n.ops(), (Ops{kConv, kSlice, kSlice, kSlice, fbs::OpParams::Concat}));
}

TEST(JoinSiblings, DepthwiseConvolutionsAfterThemAreJoined) {
  Network n;
  const Tensor map = n.input({1, 5, 6, 8});
  const auto head = [&](int outputs) {
    return n.conv(n.conv(map, outputs, 1, outputs > 1), outputs, 3, outputs == 4, outputs);
  };
  n.output(concat({head(1), head(4), head(10)}));
  n.expect_same_after(join_siblings);
  EXPECT_EQ(n.ops(), (Ops{kConv, kConv, kSlice, kSlice, kSlice, fbs::OpParams::Concat}));
}

TEST(JoinSiblings, TheConverterLooksForThem) {
  Network n;
  const Tensor map = n.input({1, 5, 6, 8});
  n.output(concat({n.conv(map, 10, 1, true), n.conv(map, 4, 1, true)}));
  n.expect_same_after(run_passes);
  EXPECT_EQ(n.ops(), (Ops{kConv, kSlice, kSlice, fbs::OpParams::Concat}));
}

TEST(JoinSiblings, OnlyTheFirstIsJoinedIfTheNextDiffer) {
  Network n;
  const Tensor map = n.input({1, 5, 6, 8});
  n.output(concat({n.conv(n.conv(map, 2, 1, true), 2, 1, true, 2), n.conv(map, 4, 1, true)}));
  n.expect_same_after(join_siblings);
  EXPECT_EQ(n.ops(), (Ops{kConv, kSlice, kConv, kSlice, fbs::OpParams::Concat}));
}

TEST(JoinSiblings, LeavesWideAndUnlikeOnes) {
  Network n;
  const Tensor map = n.input({1, 5, 6, 8});
  const Tensor clamped = relu(n.conv(map, 3, 1, true));
  n.tap("wide", n.conv(map, 4, 3, true), true);
  n.output(concat({n.conv(map, 16, 1, true), clamped, n.conv(map, 4, 1, true), n.conv(map, 2, 1, true, 2)}));
  n.expect_same_after(fuse_activation);
  const Ops before = n.ops();
  n.expect_same_after(join_siblings);
  EXPECT_EQ(n.ops(), before);
}

// A tapped value is sliced from the joined one.
TEST(JoinSiblings, KeepsAValueThatIsTapped) {
  Network n;
  const Tensor map = n.input({1, 5, 6, 8});
  const Tensor one = n.conv(map, 1, 1, true), four = n.conv(map, 4, 1, true);
  n.tap("four", four);
  n.output(concat({n.conv(one, 1, 3, true, 1), n.conv(four, 4, 3, true, 4)}));
  n.expect_same_after(join_siblings, {.keep_taps = true});
  EXPECT_EQ(n.taps(), std::vector<std::string>{"four"});
  EXPECT_EQ(n.ops(), (Ops{kConv, kSlice, kSlice, kConv, kConv, fbs::OpParams::Concat}));
}

}  // namespace
}  // namespace ferry
