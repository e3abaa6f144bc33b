#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

constexpr double kMatmulBound = 1e-6;

fbs::MatMulT matmul(bool transpose_a = false, bool transpose_b = false) {
  fbs::MatMulT p;
  p.transpose_a = transpose_a;
  p.transpose_b = transpose_b;
  return p;
}

// The operands of [a...,m,k] and [b...,k,n], stored transposed if so.
std::vector<Operand> operands(const fbs::MatMulT& p, Shape a, Shape b, int32_t m, int32_t k, int32_t n) {
  const auto append = [](Shape* shape, int32_t first, int32_t second, bool transposed) {
    (*shape)[shape->rank++] = transposed ? second : first;
    (*shape)[shape->rank++] = transposed ? first : second;
  };
  append(&a, m, k, p.transpose_a);
  append(&b, k, n, p.transpose_b);
  return {input(a), input(b)};
}

void expect_products(const Shape& a, const Shape& b, int32_t m, int32_t k, int32_t n) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      const fbs::MatMulT p = matmul(transpose_a, transpose_b);
      const std::vector<Operand> of = operands(p, a, b, m, k, n);
      SCOPED_TRACE(to_string(of[0].shape) + (transpose_a ? "^T x " : " x ") + to_string(of[1].shape) +
                   (transpose_b ? "^T" : ""));
      expect_like_oracle(p, of, kMatmulBound);
    }
}

TEST(MatMul, MatchesTheOracleForRowsAndColumnsAndDepthsOfAllKinds) {
  for (const int32_t m : {1, 3, 9, 50})
    for (const int32_t n : {1, 4, 7, 65})
      for (const int32_t k : {1, 16, 37}) expect_products({}, {}, m, k, n);
}

TEST(MatMul, MatchesTheOracleWhereRowsDepthAndColumnsAreMoreThanABlock) {
  expect_products({}, {}, 3, 700, 150);
  expect_products({}, {}, 200, 300, 70);
  expect_products({}, {}, 1, 1025, 130);
  expect_products({}, {}, 260, 19, 1);
}

TEST(MatMul, BroadcastsSamples) {
  const struct {
    Shape a, b;
  } samples[] = {{{3}, {3}},       {{3}, {}},           {{}, {3}},
                 {{2, 3}, {3}},    {{2, 1}, {3}},       {{1, 3}, {2, 1}},
                 {{2, 3}, {2, 3}}, {{2, 1, 3}, {4, 1}}, {{2, 1, 2, 3}, {1, 2, 2, 1}}};
  for (const auto& [a, b] : samples) {
    expect_products(a, b, 5, 9, 6);
    expect_products(a, b, 1, 20, 7);
    expect_products(a, b, 10, 4, 1);
  }
}

TEST(MatMul, HandsOutManySmallProducts) { expect_products({700}, {700}, 3, 2, 5); }

TEST(MatMul, TakesConstants) {
  expect_like_oracle(matmul(), {constant({4, 9}), input({2, 9, 6})}, kMatmulBound);
  expect_like_oracle(matmul(false, true), {input({2, 20, 9}), constant({2, 6, 9})}, kMatmulBound);
}

TEST(MatMulOracle, CountsByHand) {
  const reference::Array a{{2, 2}, {1, 2, 3, 4}}, b{{2, 2}, {5, 6, 7, 8}};
  EXPECT_EQ(oracle(matmul(), {a, b}).values, (std::vector<double>{19, 22, 43, 50}));
  EXPECT_EQ(oracle(matmul(true, false), {a, b}).values, (std::vector<double>{26, 30, 38, 44}));
  EXPECT_EQ(oracle(matmul(false, true), {a, b}).values, (std::vector<double>{17, 23, 39, 53}));
  EXPECT_EQ(oracle(matmul(true, true), {a, b}).values, (std::vector<double>{23, 31, 34, 46}));
}

TEST(MatMulOracle, BroadcastsSamples) {
  const reference::Array a{{2, 1, 1, 2}, {1, 2, 3, 4}}, b{{2, 2, 1}, {1, 2, 10, 20}};
  const reference::Array y = oracle(matmul(), {a, b});
  EXPECT_EQ(y.shape, (Shape{2, 2, 1, 1}));
  EXPECT_EQ(y.values, (std::vector<double>{5, 50, 11, 110}));
}

}  // namespace
}  // namespace ferry::testing
