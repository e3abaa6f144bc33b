#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

// Sums are float64; the error is the rounding to float32.
constexpr double kReduceBound = 6e-8;
// The GPU adds compensated partial sums in a float32 tree and scales the result: six roundings instead of one.
constexpr double kReduceGpuBound = 3e-7;

fbs::ReduceT reduce(fbs::ReduceKind kind, std::vector<int> axes, bool keep_dims = false) {
  fbs::ReduceT p;
  p.kind = kind;
  p.axes = std::move(axes);
  p.keep_dims = keep_dims;
  return p;
}

TEST(Reduce, AveragesAnImage) {
  for (const int channels : {1, 3, 64, 129, 512})
    for (const bool keep_dims : {false, true}) {
      SCOPED_TRACE(channels);
      expect_like_oracle(reduce(fbs::ReduceKind::Mean, {1, 2}, keep_dims), {input({2, 7, 7, channels})}, kReduceBound,
                         kReduceGpuBound);
    }
  expect_like_oracle(reduce(fbs::ReduceKind::Mean, {1, 2}), {input({1, 1, 1, 20})}, kReduceBound, kReduceGpuBound);
  for (const int side : {7, 14, 29})  // one image, in parts
    for (const int channels : {130, 672})
      expect_like_oracle(reduce(fbs::ReduceKind::Mean, {1, 2}), {input({1, side, side, channels}, 0, 1)}, kReduceBound,
                         kReduceGpuBound);
  expect_like_oracle(reduce(fbs::ReduceKind::Mean, {1, 2}), {input({1, 61, 67, 5}, 0, 1)}, kReduceBound,
                     kReduceGpuBound);
}

TEST(Reduce, TakesAnyAxes) {
  for (unsigned set = 1; set < 16; ++set) {
    std::vector<int> axes;
    for (int i = 0; i < 4; ++i)
      if ((set >> i & 1u) != 0) axes.push_back(i);
    SCOPED_TRACE(::testing::Message() << "axes of bits " << set);
    expect_like_oracle(reduce(fbs::ReduceKind::Sum, axes), {input({3, 4, 5, 6}, 0, 1)}, kReduceBound, kReduceGpuBound);
    expect_like_oracle(reduce(fbs::ReduceKind::Mean, axes, true), {input({2, 1, 19, 33}, 0, 1)}, kReduceBound,
                       kReduceGpuBound);
  }
  expect_like_oracle(reduce(fbs::ReduceKind::Sum, {1, 3, 5}), {input({2, 3, 4, 5, 2, 3}, 0, 1)}, kReduceBound,
                     kReduceGpuBound);
  expect_like_oracle(reduce(fbs::ReduceKind::Sum, {0, 2, 4}), {input({2, 3, 4, 5, 2, 3}, 0, 1)}, kReduceBound,
                     kReduceGpuBound);
}

// A sequential float32 sum of a million terms would have an error of 1e-5 and more.
TEST(Reduce, StaysExactOverManyTerms) {
  expect_like_oracle(reduce(fbs::ReduceKind::Mean, {0, 1}), {input({1024, 1024}, 0, 1)}, kReduceBound, kReduceGpuBound);
  expect_like_oracle(reduce(fbs::ReduceKind::Mean, {0, 1}), {input({1024, 512, 2}, 0, 1)}, kReduceBound,
                     kReduceGpuBound);
}

constexpr fbs::ReduceKind kFolds[] = {fbs::ReduceKind::Max, fbs::ReduceKind::Min, fbs::ReduceKind::Prod};

TEST(Reduce, FindsLargestAndMultiplies) {
  for (const fbs::ReduceKind kind : kFolds) {
    SCOPED_TRACE(fbs::EnumNameReduceKind(kind));
    const auto expect = [&](std::vector<int> axes, bool keep_dims, Shape shape) {
      expect_like_oracle(reduce(kind, std::move(axes), keep_dims), {input(shape, 0.5, 1.5)}, kReduceBound, {}, true);
      expect_like_oracle(reduce(kind, {0}), {input(shape, -1, 1)}, kReduceBound, {}, true);
    };
    expect({1, 2}, false, {3, 7, 5, 13});
    expect({3}, true, {3, 7, 5, 13});
    expect({0, 2}, true, {3, 7, 5, 130});
    expect({0, 1, 2, 3}, false, {1, 1, 1, 1});
    expect({1, 3, 5}, false, {2, 3, 4, 5, 2, 3});
  }
}

TEST(Reduce, TakesIntegers) {
  for (const fbs::ReduceKind kind : fbs::EnumValuesReduceKind()) {
    SCOPED_TRACE(fbs::EnumNameReduceKind(kind));
    if (kind == fbs::ReduceKind::Mean) continue;
    expect_like_oracle(reduce(kind, {1, 2}), {ints({3, 7, 5, 13}, -3, 4)}, 0);
    expect_like_oracle(reduce(kind, {3}, true), {ints({3, 7, 5, 13}, -0x1p31, 0x1p31)}, 0);
    expect_like_oracle(reduce(kind, {0, 2}), {ints({3, 7, 5, 130}, -0x1p31, 0x1p31)}, 0);
    expect_like_oracle(reduce(kind, {0}), {ints({1}, -3, 4)}, 0);
  }
}

TEST(ReduceOracle, CountsByHand) {
  const reference::Array x{{2, 3}, counting(6)};
  EXPECT_EQ(oracle(reduce(fbs::ReduceKind::Sum, {0}), {x}).values, (std::vector<double>{3, 5, 7}));
  EXPECT_EQ(oracle(reduce(fbs::ReduceKind::Mean, {1}), {x}).values, (std::vector<double>{1, 4}));
  const reference::Array all = oracle(reduce(fbs::ReduceKind::Mean, {0, 1}, true), {x});
  EXPECT_EQ(all.shape, (Shape{1, 1}));
  EXPECT_EQ(all.values, (std::vector<double>{2.5}));
}

}  // namespace
}  // namespace ferry::testing
