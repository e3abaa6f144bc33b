// Operators that move values without computing: exact.
#include "sdk/operators/size_code.h"
#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

fbs::ConcatT concat(int axis) {
  fbs::ConcatT p;
  p.axis = axis;
  return p;
}

fbs::PixelShuffleT pixel_shuffle(int factor) {
  fbs::PixelShuffleT p;
  p.factor = factor;
  return p;
}

fbs::PadT pad(std::vector<int> before, std::vector<int> after, float value = 0) {
  fbs::PadT p;
  p.before = std::move(before);
  p.after = std::move(after);
  p.value = value;
  return p;
}

fbs::ReshapeT reshape(std::vector<int> shape) {
  fbs::ReshapeT p;
  p.shape = std::move(shape);
  return p;
}

fbs::TransposeT transpose(std::vector<int> perm) {
  fbs::TransposeT p;
  p.perm = std::move(perm);
  return p;
}

fbs::SliceT slice(std::vector<int> begin, std::vector<int> size) {
  fbs::SliceT p;
  p.begin = std::move(begin);
  p.size = std::move(size);
  return p;
}

TEST(Concat, JoinsAlongEveryAxis) {
  expect_like_oracle(concat(3), {input({2, 5, 6, 64}), input({2, 5, 6, 3}), input({2, 5, 6, 33})}, 0);
  expect_like_oracle(concat(2), {input({2, 5, 6, 3}), input({2, 5, 1, 3})}, 0);
  expect_like_oracle(concat(1), {input({2, 5, 6, 3}), input({2, 2, 6, 3})}, 0);
  expect_like_oracle(concat(0), {input({2, 50, 60, 3}), input({1, 50, 60, 3})}, 0);
  expect_like_oracle(concat(0), {input({7}), input({1}), constant({3})}, 0);
  expect_like_oracle(concat(1), {input({3, 4})}, 0);
}

TEST(Concat, CopiesLargeInputsInManyTasks) {
  expect_like_oracle(concat(3), {input({1, 64, 64, 64}), input({1, 64, 64, 32})}, 0);
}

// Rows of a few elements: several parts meet within one GPU quad, and odd ones begin in its middle.
TEST(Concat, JoinsPartsSmallerThanAQuad) {
  expect_like_oracle(concat(3), {input({3, 2, 3, 1}), input({3, 2, 3, 1}), input({3, 2, 3, 1}), input({3, 2, 3, 1})},
                     0);
  expect_like_oracle(concat(3), {input({3, 2, 3, 1}), input({3, 2, 3, 2}), input({3, 2, 3, 17})}, 0);
  expect_like_oracle(concat(3), {input({3, 2, 3, 5}), input({3, 2, 3, 8}), input({3, 2, 3, 2}), input({3, 2, 3, 1})},
                     0);
  expect_like_oracle(concat(3), {input({3, 2, 3, 8}), input({3, 2, 3, 3}), constant({3, 2, 3, 5})}, 0);
  expect_like_oracle(concat(5), {input({2, 3, 1, 2, 3, 2}), input({2, 3, 1, 2, 3, 5})}, 0);
  expect_like_oracle(concat(2), {input({2, 3, 1, 2, 3, 2}), input({2, 3, 4, 2, 3, 2})}, 0);
}

TEST(ConcatOracle, CountsByHand) {
  const reference::Array y = oracle(concat(1), {{{2, 1}, {1, 2}}, {{2, 2}, {3, 4, 5, 6}}});
  EXPECT_EQ(y.shape, (Shape{2, 3}));
  EXPECT_EQ(y.values, (std::vector<double>{1, 3, 4, 2, 5, 6}));
}

TEST(PixelShuffle, MatchesTheOracle) {
  expect_like_oracle(pixel_shuffle(2), {input({2, 5, 7, 12})}, 0);
  expect_like_oracle(pixel_shuffle(3), {input({1, 4, 3, 27})}, 0);
  expect_like_oracle(pixel_shuffle(4), {input({1, 33, 17, 48})}, 0);
  expect_like_oracle(pixel_shuffle(1), {input({1, 4, 3, 5})}, 0);
  expect_like_oracle(pixel_shuffle(2), {input({3, 5, 3, 32})}, 0);  // whole quads
}

// TensorFlow's documentation of tf.nn.depth_to_space: [[[[1,2,3,4]]]] with blocks of 2, and its 2x2x2x12 variant.
TEST(PixelShuffleOracle, IsDepthToSpace) {
  const reference::Array y = oracle(pixel_shuffle(2), {{{1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}}});
  EXPECT_EQ(y.shape, (Shape{1, 2, 4, 1}));
  EXPECT_EQ(y.values, (std::vector<double>{1, 2, 5, 6, 3, 4, 7, 8}));
}

TEST(Pad, MatchesTheOracle) {
  expect_like_oracle(pad({0, 1, 2, 0}, {0, 3, 0, 0}), {input({2, 5, 6, 7})}, 0);
  expect_like_oracle(pad({1, 0, 0, 2}, {0, 1, 1, 5}, -2.5f), {input({2, 5, 6, 7})}, 0);
  expect_like_oracle(pad({0, 0}, {0, 0}), {input({3, 4})}, 0);
  expect_like_oracle(pad({3}, {1}, 1), {input({4})}, 0);
  expect_like_oracle(pad({1, 1, 1, 1, 1, 1}, {0, 1, 0, 1, 0, 1}), {input({2, 3, 1, 2, 3, 2})}, 0);
  expect_like_oracle(pad({0, 3, 3, 0}, {0, 3, 3, 0}), {input({1, 50, 50, 16})}, 0);
  // Along rows of whole quads, and others.
  expect_like_oracle(pad({0, 1, 0, 4}, {0, 0, 1, 8}, 3), {input({3, 3, 5, 8})}, 0);
  expect_like_oracle(pad({0, 0, 0, 4}, {0, 0, 0, 3}, 3), {input({3, 3, 5, 8})}, 0);
  expect_like_oracle(pad({0, 0, 0, 4}, {0, 0, 0, 0}, 3), {input({3, 3, 5, 5})}, 0);
  expect_like_oracle(pad({0, 0, 0, 4}, {0, 0, 0, 1}, 3), {input({3, 3, 5, 5})}, 0);
  expect_like_oracle(pad({0, 0, 0, 1}, {0, 0, 0, 0}, 3), {input({3, 3, 5, 1})}, 0);
}

TEST(Pad, ReachesMultiples) {
  fbs::PadT p = pad({0, 1, 2, 0}, {0, 3, 0, 0}, 3);
  p.multiple = {1, 8, 5, 4};
  expect_like_oracle(p, {input({2, 5, 6, 7})}, 0);
  p.multiple = {3, 9, 8, 7};
  expect_like_oracle(p, {input({2, 5, 6, 7})}, 0);
}

TEST(Slice, OfTheLastElements) {
  fbs::SliceT p = slice({0, kLastElements, 0, kLastElements}, {-1, 3, -1, 4});
  expect_like_oracle(p, {input({2, 5, 6, 8})}, 0);
  p = slice({0, kLastElements, 1, 0}, {-1, SizeCode{2, 2, true}.encode(), SizeCode{1, 2}.encode(), -1});
  expect_like_oracle(p, {input({2, 5, 6, 8}), input({1, 7, 7})}, 0);
  expect_like_oracle(slice({0, 1, -3, 0}, {all_but(1), all_but(2), all_but(2), all_but(3)}), {input({2, 5, 6, 8})}, 0);
}

TEST(PadOracle, CountsByHand) {
  const reference::Array y = oracle(pad({1, 0}, {0, 2}, 9), {{{1, 2}, {1, 2}}});
  EXPECT_EQ(y.shape, (Shape{2, 4}));
  EXPECT_EQ(y.values, (std::vector<double>{9, 9, 9, 9, 1, 2, 9, 9}));
}

TEST(Reshape, KeepsTheOrderOfElements) {
  expect_like_oracle(reshape({0, -1}), {input({2, 7, 7, 32})}, 0);
  expect_like_oracle(reshape({6, 5, 4}), {input({4, 5, 6})}, 0);
  expect_like_oracle(reshape({-1}), {input({100, 101})}, 0);
  expect_like_oracle(reshape({}), {input({1, 1})}, 0);
  for (const int channels : {1, 2, 3, 5, 8, 17}) {
    SCOPED_TRACE(channels);
    expect_like_oracle(reshape({-1}), {input({3, 5, 7, channels})}, 0);
    expect_like_oracle(reshape({5, 3, 1, channels, 7, 1}), {input({3, 5, 7, channels})}, 0);
  }
}

// With quads that stay in place, and others.
TEST(Reshape, TakesConstants) {
  expect_like_oracle(reshape({-1, -3, 8}), {constant({2, 3, 5, 8}), input({1, 3})}, 0);
  expect_like_oracle(reshape({-1, -3, 5}), {constant({2, 3, 5, 7}), input({1, 3})}, 0);
}

TEST(Transpose, MatchesTheOracle) {
  expect_like_oracle(transpose({0, 3, 1, 2}), {input({2, 5, 6, 7})}, 0);
  expect_like_oracle(transpose({0, 2, 3, 1}), {input({2, 5, 6, 7})}, 0);
  expect_like_oracle(transpose({1, 0}), {input({33, 65})}, 0);
  expect_like_oracle(transpose({0, 1, 2}), {input({3, 4, 5})}, 0);
  expect_like_oracle(transpose({0}), {input({9})}, 0);
  expect_like_oracle(transpose({5, 4, 3, 2, 1, 0}), {input({2, 3, 1, 2, 3, 2})}, 0);
  expect_like_oracle(transpose({0, 1, 3, 2, 4, 5}), {input({1, 4, 2, 3, 5, 2})}, 0);
  expect_like_oracle(transpose({2, 0, 1, 3}), {input({3, 5, 7, 8})}, 0);  // whole quads
  expect_like_oracle(transpose({2, 0, 1, 3}), {input({3, 5, 7, 17})}, 0);
  expect_like_oracle(transpose({1, 0, 2, 4, 3, 5}), {input({2, 3, 2, 3, 5, 4})}, 0);
}

TEST(TransposeOracle, CountsByHand) {
  const reference::Array y = oracle(transpose({2, 0, 1}), {{{1, 2, 3}, counting(6)}});
  EXPECT_EQ(y.shape, (Shape{3, 1, 2}));
  EXPECT_EQ(y.values, (std::vector<double>{0, 3, 1, 4, 2, 5}));
}

TEST(Slice, MatchesTheOracle) {
  expect_like_oracle(slice({0, 0, 0, 3}, {-1, -1, -1, 4}), {input({2, 5, 6, 7})}, 0);
  expect_like_oracle(slice({1, 2, 3, 0}, {1, 2, -1, -1}), {input({2, 5, 6, 7})}, 0);
  expect_like_oracle(slice({0, 0}, {-1, -1}), {input({3, 4})}, 0);
  expect_like_oracle(slice({5}, {1}), {input({9})}, 0);
  expect_like_oracle(slice({0, 1, 0, 0, 1, 0}, {2, 2, 1, 1, 2, 2}), {input({2, 3, 1, 2, 3, 2})}, 0);
  // Within rows of whole quads: to the end, to the middle of a quad, and from the middle of one.
  expect_like_oracle(slice({1, 0, 1, 4}, {2, 3, -1, 8}), {input({3, 3, 5, 12})}, 0);
  expect_like_oracle(slice({0, 0, 0, 4}, {-1, -1, -1, 3}), {input({3, 3, 5, 12})}, 0);
  expect_like_oracle(slice({0, 0, 0, 2}, {-1, -1, -1, 8}), {input({3, 3, 5, 12})}, 0);
  expect_like_oracle(slice({0, 0, 0, 8}, {-1, -1, -1, 5}), {input({3, 3, 5, 17})}, 0);
  expect_like_oracle(slice({0, 0, 0, 16}, {-1, -1, -1, 1}), {input({3, 3, 5, 17})}, 0);
}

TEST(Slice, BeginsFromTheEnd) {
  expect_like_oracle(slice({0, -2, 0, -3}, {-1, 1, -1, 2}), {input({2, 5, 6, 7})}, 0);
  expect_like_oracle(slice({0, -1}, {-1, -1}), {input({3, 4})}, 0);
  expect_like_oracle(slice({-9}, {1}), {input({9})}, 0);
  const reference::Array y = oracle(slice({-1, -2}, {1, 1}), {{{2, 3}, counting(6)}});
  EXPECT_EQ(y.values, (std::vector<double>{4}));
}

TEST(Slice, TakesSizesFromAnotherTensor) {
  // A table of positions, cut to the length of the value it is added to, or of the token ids.
  expect_like_oracle(slice({0, 0, 0}, {-1, -3, -1}), {constant({1, 16, 12}), input({2, 7, 12})}, 0);
  expect_like_oracle(slice({2, 0}, {-3, -1}), {constant({16, 12}), ints({2, 7}, 0, 9)}, 0);
  expect_like_oracle(slice({0, 1, 0, 0}, {-1, -3, -4, -1}), {input({2, 9, 8, 5}), input({1, 3, 4, 2})}, 0);
}

TEST(Reshape, TakesSizesFromAnotherTensor) {
  fbs::ReshapeT p;
  p.shape = {0, -3, -1, 10};
  expect_like_oracle(p, {input({2, 12, 10}), input({1, 3, 4, 7})}, 0);
  p.shape = {0, -3, -4, 5};
  expect_like_oracle(p, {input({2, 6, 10}), input({1, 3, 4, 7})}, 0);
}

TEST(SliceOracle, CountsByHand) {
  const reference::Array y = oracle(slice({1, 0}, {1, 2}), {{{2, 3}, counting(6)}});
  EXPECT_EQ(y.shape, (Shape{1, 2}));
  EXPECT_EQ(y.values, (std::vector<double>{3, 4}));
}

TEST(Movement, MovesIntegers) {
  const Operand x = ints({2, 3, 5, 8}, -0x1p31, 0x1p31);
  expect_like_oracle(concat(1), {x, int_constant({2, 1, 5, 8}, 0, 9)}, 0);
  expect_like_oracle(pixel_shuffle(2), {x}, 0);
  expect_like_oracle(pad({0, 1, 2, 0}, {1, 0, 0, 3}, -7), {x}, 0);
  expect_like_oracle(reshape({0, -1}), {x}, 0);
  expect_like_oracle(transpose({3, 0, 2, 1}), {x}, 0);
  expect_like_oracle(slice({0, 1, 0, 3}, {1, 2, -1, 4}), {x}, 0);
}

}  // namespace
}  // namespace ferry::testing
