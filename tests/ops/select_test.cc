// Cast and Select.
#include <limits>

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

using fbs::DType;

fbs::CastT cast(DType to) {
  fbs::CastT p;
  p.to = to;
  return p;
}

constexpr double kSelectInfinity = std::numeric_limits<double>::infinity();

TEST(Cast, EveryTypeMatchesTheOracle) {
  for (const DType to : fbs::EnumValuesDType()) {
    SCOPED_TRACE(EnumNameDType(to));
    expect_like_oracle(cast(to), {input({3, 5, 7, 13}, -300, 300)}, 0, {}, true);
    expect_like_oracle(cast(to), {input({1}, -1e5, 1e5)}, 0, {}, true);
    expect_like_oracle(cast(to), {input({2, 8193}, -1e10, 1e10)}, 0, {}, true);
    expect_like_oracle(cast(to), {ints({3, 5, 7, 13}, -300, 300)}, 0);
    expect_like_oracle(cast(to), {ints({3, 1}, -0x1p31, 0x1p31)}, 0);
  }
}

TEST(Cast, DefinesOutOfRangeValues) {
  const Operand x =
      given({7}, {2.9, -2.9, 3e9, -3e9, kSelectInfinity, -kSelectInfinity, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(expect_like_oracle(cast(DType::Int32), {x}, 0),
            (std::vector<float>{2, -2, 0x1p31f, -0x1p31f, 0x1p31f, -0x1p31f, 0}));
  const Operand y = given({4}, {300, -300, 128, -129}, DType::Int32);
  EXPECT_EQ(expect_like_oracle(cast(DType::Int8), {y}, 0), (std::vector<float>{44, -44, -128, 127}));
  EXPECT_EQ(expect_like_oracle(cast(DType::UInt8), {y}, 0), (std::vector<float>{44, 212, 128, 127}));
  EXPECT_EQ(expect_like_oracle(cast(DType::Bool), {y}, 0), (std::vector<float>{1, 1, 1, 1}));
}

TEST(Select, MatchesTheOracle) {
  const fbs::SelectT p;
  expect_like_oracle(p, {ints({3, 5, 7}, 0, 2), input({3, 5, 7}), input({3, 5, 7})}, 0);
  expect_like_oracle(p, {ints({3, 5, 7}, -1, 2), ints({3, 5, 7}, -0x1p31, 0x1p31), int_constant({7}, 0, 9)}, 0);
  expect_like_oracle(p, {ints({1}, 1, 2), input({1}), input({1})}, 0);
}

TEST(Select, Broadcasts) {
  const fbs::SelectT p;
  expect_like_oracle(p, {ints({5, 1}, 0, 2), input({3, 1, 7}), input({1})}, 0);
  expect_like_oracle(p, {ints({3, 1, 7}, 0, 2), constant({5, 1}), input({})}, 0);
  expect_like_oracle(p, {int_constant({2, 1, 3, 1, 4, 1}, 0, 2), input({1, 2, 1, 3, 1, 4}), constant({4})}, 0);
  expect_like_oracle(p, {ints({3, 20000}, 0, 2), input({20000}), input({3, 1})}, 0);
}

TEST(SelectOracle, CountsByHand) {
  const reference::Array y = oracle(fbs::SelectT(), {{{2, 1}, {1, 0}, DType::Int32}, {{3}, {1, 2, 3}}, {{1}, {9}}});
  EXPECT_EQ(y.shape, (Shape{2, 3}));
  EXPECT_EQ(y.values, (std::vector<double>{1, 2, 3, 9, 9, 9}));
}

}  // namespace
}  // namespace ferry::testing
