#include "tests/ops/harness.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

constexpr double kSoftmaxBound = 5e-7;

TEST(Softmax, MatchesTheOracle) {
  for (const int classes : {1, 2, 10, 257, 1000}) {
    SCOPED_TRACE(classes);
    expect_like_oracle(fbs::SoftmaxT(), {input({3, classes}, -5, 5)}, kSoftmaxBound);
  }
  expect_like_oracle(fbs::SoftmaxT(), {input({2, 5, 6, 7}, -5, 5)}, kSoftmaxBound);
  expect_like_oracle(fbs::SoftmaxT(), {input({12}, -5, 5)}, kSoftmaxBound);
}

// The CPU computes many short rows together, in parts that end anywhere.
TEST(Softmax, TakesManyShortRows) {
  for (const int classes : {1, 2, 7, 8, 15, 16, 17}) {
    SCOPED_TRACE(classes);
    for (const int rows : {31, 33, 3000})
      expect_like_oracle(fbs::SoftmaxT(), {input({rows, classes}, -90, 5)}, kSoftmaxBound);
  }
}

// The GPU pads rows with zeros, which must count neither as maximum nor in the sum.
TEST(Softmax, TakesRowsOfAnyLengthBelowZero) {
  for (const int classes : {1, 2, 3, 5, 8, 17, 255}) {
    SCOPED_TRACE(classes);
    expect_like_oracle(fbs::SoftmaxT(), {input({3, classes}, -600, -590)}, kSoftmaxBound);
  }
  expect_like_oracle(fbs::SoftmaxT(), {input({2, 1, 3, 1, 2, 5}, -5, 5)}, kSoftmaxBound);
}

TEST(Softmax, TakesLargeLogits) { expect_like_oracle(fbs::SoftmaxT(), {input({2, 100}, 500, 600)}, kSoftmaxBound); }

// At the length that the GPU refuses, and just below. The bound is loose, because XNNPACK adds millions of terms in
// float32.
TEST(Softmax, LeavesVeryLongRowsToTheCpu) {
  if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver";
  expect_like_oracle(fbs::SoftmaxT(), {input({1, 6000000}, -1, 1)}, 1e-5, {}, true);
  expect_like_oracle(fbs::SoftmaxT(), {input({1, 5000000}, -1, 1)}, 1e-5);
}

TEST(SoftmaxOracle, CountsByHand) {
  const reference::Array y = oracle(fbs::SoftmaxT(), {{{2, 2}, {0, 0, 1000, 1001}}});
  EXPECT_NEAR(y.values[0], 0.5, 1e-15);
  EXPECT_NEAR(y.values[2], 0.2689414213699951, 1e-15);
  EXPECT_NEAR(y.values[3], 0.7310585786300049, 1e-15);
}

}  // namespace
}  // namespace ferry::testing
