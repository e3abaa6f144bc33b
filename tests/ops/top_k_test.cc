// TopK and NonMaxSuppression.
#include <limits>

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

fbs::TopKT top_k(int k, bool smallest = false, bool later = false) {
  fbs::TopKT p;
  p.k = k;
  p.smallest = smallest;
  p.later = later;
  return p;
}

TEST(TopK, MatchesTheOracle) {
  for (const bool smallest : {false, true}) {
    for (const bool later : {false, true}) {
      SCOPED_TRACE(::testing::Message() << smallest << later);
      for (const int k : {1, 2, 7}) {
        expect_like_oracle(top_k(k, smallest, later), {input({3, 5, 7})}, 0);
        expect_like_oracle(top_k(k, smallest, later), {ints({3, 5, 7}, -2, 3)}, 0);  // many are equal
      }
      for (const int k : {5, 100, 300}) {
        expect_like_oracle(top_k(k, smallest, later), {input({3, 300})}, 0);
        expect_like_oracle(top_k(k, smallest, later), {ints({3, 300}, 0, 1)}, 0);
        expect_like_oracle(top_k(k, smallest, later), {ints({3, 300}, 4, 4)}, 0);
      }
      expect_like_oracle(top_k(5, smallest, later), {input({3, 2048}, -1, 1)}, 0);
      expect_like_oracle(top_k(5, smallest, later), {ints({3, 20000}, -1e6, 1e6)}, 0);  // the CPU computes integers
      expect_like_oracle(top_k(1, smallest, later), {ints({1}, -0x1p31, 0x1p31)}, 0);
    }
  }
}

TEST(TopK, PutsNaNAboveAllElse) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Operand x = given({6}, {1, kInfinity, std::numeric_limits<double>::quiet_NaN(), -kInfinity, 0.0, -0.0});
  EXPECT_EQ(expect_like_oracle(top_k(6), {x}, 0), (std::vector<float>{2, 1, 0, 4, 5, 3}));
  EXPECT_EQ(expect_like_oracle(top_k(6, true), {x}, 0), (std::vector<float>{3, 4, 5, 0, 1, 2}));
}

fbs::NonMaxSuppressionT suppression(int max_boxes, float iou, float score, bool centers = false) {
  fbs::NonMaxSuppressionT p;
  p.max_boxes = max_boxes;
  p.iou_threshold = iou;
  p.score_threshold = score;
  p.centers = centers;
  return p;
}

TEST(NonMaxSuppression, MatchesTheOracle) {
  for (const bool centers : {false, true}) {
    SCOPED_TRACE(centers);
    expect_like_oracle(suppression(3, 0.5f, 0.1f, centers), {input({2, 40, 4}), input({2, 3, 40})}, 0, {}, true);
    expect_like_oracle(suppression(100, 0.3f, -2, centers), {input({3, 57, 4}), input({3, 1, 57})}, 0, {}, true);
    expect_like_oracle(suppression(1, 0, 0, centers), {input({1, 1, 4}), input({1, 1, 1})}, 0, {}, true);
  }
}

// Boxes along a diagonal, three at each place, whose distance is below, near and far above their size.
TEST(NonMaxSuppression, MatchesTheOracleForBoxesThatAreFarApart) {
  for (const double step : {0.3, 3.0, 700.0}) {
    std::vector<double> corners, scores;
    for (int i = 0; i < 300; ++i) {
      const double at = step * (i % 100) - 40, size = 2 + i % 7 * 0.25;
      corners.insert(corners.end(), {at, at, at + size, at + size});
      scores.push_back((i * 37 % 101) / 101.0);
    }
    SCOPED_TRACE(step);
    expect_like_oracle(suppression(300, 0.4f, 0.05f), {given({1, 300, 4}, corners), given({1, 1, 300}, scores)}, 0, {},
                       true);
  }
}

// Of two boxes that overlap by half, the better one remains. Without a sufficient score all rows are -1.
TEST(NonMaxSuppression, CountsByHand) {
  const Operand boxes = given({1, 3, 4}, {0, 0, 2, 2, 2, 3, 0, 0, 5, 5, 6, 6});
  EXPECT_EQ(
      expect_like_oracle(suppression(3, 0.5f, 0), {boxes, given({1, 2, 3}, {0.7, 0.9, 0.8, -1, 0.2, -1})}, 0, {}, true),
      (std::vector<float>{0, 0, 1, 0, 0, 2, 0, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(expect_like_oracle(suppression(1, 0.5f, 1), {boxes, given({1, 1, 3}, {0.7, 0.9, 0.8})}, 0, {}, true),
            (std::vector<float>{-1, -1, -1}));
}

}  // namespace
}  // namespace ferry::testing
