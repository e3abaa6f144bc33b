#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

// One rounding per operation; PRelu, Max and Min of exact values are exact or rounded once.
constexpr double kBinaryBound = 1.2e-7;

fbs::BinaryT binary(fbs::BinaryKind kind) {
  fbs::BinaryT p;
  p.kind = kind;
  return p;
}

// b is bounded away from 0, for Div.
TEST(Binary, EveryKindMatchesTheOracle) {
  for (const fbs::BinaryKind kind : fbs::EnumValuesBinaryKind()) {
    SCOPED_TRACE(fbs::EnumNameBinaryKind(kind));
    if (kind >= fbs::BinaryKind::And) continue;  // of integers
    const double low = kind == fbs::BinaryKind::Pow ? 0.25 : -1;
    const bool on_cpu = kind > fbs::BinaryKind::PRelu;
    const auto expect = [&](const Operand& a, const Operand& b) {
      expect_like_oracle(binary(kind), {a, b}, kBinaryBound, {}, on_cpu);
    };
    expect(input({1, 7, 9, 13}, low), input({1, 7, 9, 13}, 0.25, 2));
    expect(input({1, 7, 9, 13}, low), constant({13}, 0.25, 2));
    expect(input({1}, low), input({5, 4, 3}, 0.25, 2));
    expect(input({5, 4, 3}, low), constant({1}, -2, -0.25));
  }
}

TEST(Binary, EveryKindTakesIntegers) {
  for (const fbs::BinaryKind kind : fbs::EnumValuesBinaryKind()) {
    SCOPED_TRACE(fbs::EnumNameBinaryKind(kind));
    if (kind == fbs::BinaryKind::PRelu) continue;
    expect_like_oracle(binary(kind), {ints({1, 7, 9, 13}, -3, 4), ints({1, 7, 9, 13}, -3, 4)}, 0);
    expect_like_oracle(binary(kind), {ints({3, 5, 1, 4}, -9, 10), int_constant({3, 4}, -3, 4)}, 0);
    expect_like_oracle(binary(kind), {ints({1}, 2, 3), ints({5, 4, 3}, -9, 10)}, 0);
    if (kind == fbs::BinaryKind::Pow) continue;
    expect_like_oracle(binary(kind), {ints({3, 8193}, -0x1p31, 0x1p31), ints({3, 1}, -0x1p31, 0x1p31)}, 0);
    expect_like_oracle(binary(kind),
                       {given({2}, {-0x1p31, 5}, fbs::DType::Int32), given({2}, {-1, 0}, fbs::DType::Int32)}, 0);
  }
}

TEST(Binary, RemaindersHaveTheRightSign) {
  const Operand a = given({4}, {7, -7, 7, -7}, fbs::DType::Int32), b = given({4}, {3, 3, -3, -3}, fbs::DType::Int32);
  EXPECT_EQ(expect_like_oracle(binary(fbs::BinaryKind::Mod), {a, b}, 0), (std::vector<float>{1, 2, -2, -1}));
  EXPECT_EQ(expect_like_oracle(binary(fbs::BinaryKind::FMod), {a, b}, 0), (std::vector<float>{1, -1, 1, -1}));
  const Operand c = given({4}, {7.5, -7.5, 7.5, -7.5}), d = given({4}, {3, 3, -3, -3});
  EXPECT_EQ(expect_like_oracle(binary(fbs::BinaryKind::Mod), {c, d}, 0, {}, true),
            (std::vector<float>{1.5, 1.5, -1.5, -1.5}));
  EXPECT_EQ(expect_like_oracle(binary(fbs::BinaryKind::FMod), {c, d}, 0, {}, true),
            (std::vector<float>{1.5, -1.5, 1.5, -1.5}));
}

TEST(Binary, PowersOfIntegersWrapAround) {
  const Operand a = given({6}, {2, -2, 3, 0, -1, 7}, fbs::DType::Int32);
  const Operand b = given({6}, {30, 31, 21, 0, -3, -1}, fbs::DType::Int32);
  expect_like_oracle(binary(fbs::BinaryKind::Pow), {a, b}, 0);
}

TEST(Binary, BroadcastsAsNumPyDoes) {
  const struct {
    Shape a, b;
  } cases[] = {
      {{2, 5, 6, 16}, {2, 1, 1, 16}},            // squeeze and excitation
      {{2, 1, 1, 16}, {2, 5, 6, 16}},            //
      {{2, 5, 6, 16}, {16}},                     //
      {{2, 5, 6, 16}, {6, 1}},                   // along the row
      {{2, 5, 6, 1}, {1, 1, 1, 16}},             // an outer product
      {{3, 1, 4, 1}, {1, 5, 1, 6}},              //
      {{1, 1, 1, 1}, {1, 1}},                    //
      {{2, 1, 3, 1, 4, 1}, {1, 2, 1, 3, 1, 4}},  //
      {{}, {3, 3}},                              // a scalar
      {{4, 1, 5}, {5}},                          //
      {{1, 20000}, {3, 20000}},                  // rows longer than a task
      {{3, 20000}, {3, 1}},                      //
      {{3, 2, 1, 2, 3, 8}, {1, 3, 1, 1, 8}},     // six dimensions, rows of whole quads
      {{3, 5, 1, 17}, {1, 5, 3, 1}},             //
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(to_string(c.a) + " and " + to_string(c.b));
    expect_like_oracle(binary(fbs::BinaryKind::Sub), {input(c.a), input(c.b)}, kBinaryBound);
  }
}

TEST(Binary, ClampsItsOutput) {
  fbs::BinaryT p = binary(fbs::BinaryKind::Add);
  p.output_min = 0;
  std::vector<float> relu = expect_like_oracle(p, {input({1, 14, 14, 33}), input({1, 14, 14, 33})}, kBinaryBound);
  for (const float value : relu) ASSERT_GE(value, 0.0f);
  p.output_min = -0.5f;
  p.output_max = 0.5f;
  expect_like_oracle(p, {input({1, 14, 14, 33}), input({33})}, kBinaryBound);
}

TEST(Binary, TakesTinyNumbers) {
  for (const auto kind : {fbs::BinaryKind::Add, fbs::BinaryKind::Sub, fbs::BinaryKind::Mul}) {
    const double other = kind == fbs::BinaryKind::Mul ? 1 : 1e-4;
    expect_like_oracle(binary(kind), {input({1, 14, 14, 33}, -1e-4, 1e-4), input({1, 14, 14, 33}, -other, other)},
                       kBinaryBound);
  }
}

TEST(Binary, WidensFloat16Constants) {
  expect_like_oracle(binary(fbs::BinaryKind::PRelu), {input({1, 6, 5, 7}), float16_constant({7})}, kBinaryBound);
  expect_like_oracle(binary(fbs::BinaryKind::Sub), {float16_constant({7}), input({1, 6, 5, 7})}, kBinaryBound);
}

TEST(Binary, BroadcastsConstantsOnEitherSide) {
  expect_like_oracle(binary(fbs::BinaryKind::Sub), {constant({5, 1, 3}), input({3, 5, 2, 1})}, kBinaryBound);
  expect_like_oracle(binary(fbs::BinaryKind::Sub), {input({3, 5, 2, 1}), constant({5, 1, 8})}, kBinaryBound);
  expect_like_oracle(binary(fbs::BinaryKind::Sub), {float16_constant({3, 1, 1, 5}), input({3, 2, 3, 5})}, kBinaryBound);
}

TEST(Binary, SplitsLargeTensorsAmongThreads) {
  expect_like_oracle(binary(fbs::BinaryKind::Add), {input({1, 56, 56, 64}), input({1, 56, 56, 64})}, kBinaryBound);
}

TEST(BinaryOracle, CountsByHand) {
  const auto at = [](fbs::BinaryKind kind, double a, double b) {
    return oracle(binary(kind), {{{1}, {a}}, {{1}, {b}}}).values[0];
  };
  EXPECT_EQ(at(fbs::BinaryKind::Add, 3, 4), 7);
  EXPECT_EQ(at(fbs::BinaryKind::Sub, 3, 4), -1);
  EXPECT_EQ(at(fbs::BinaryKind::Mul, 3, 4), 12);
  EXPECT_EQ(at(fbs::BinaryKind::Div, 3, 4), 0.75);
  EXPECT_EQ(at(fbs::BinaryKind::Max, 3, 4), 4);
  EXPECT_EQ(at(fbs::BinaryKind::Min, 3, 4), 3);
  EXPECT_EQ(at(fbs::BinaryKind::PRelu, -2, 0.25), -0.5);
  EXPECT_EQ(at(fbs::BinaryKind::PRelu, 2, 0.25), 2);
  const reference::Array y = oracle(binary(fbs::BinaryKind::Sub), {{{2, 1}, {10, 20}}, {{3}, {1, 2, 3}}});
  EXPECT_EQ(y.shape, (Shape{2, 3}));
  EXPECT_EQ(y.values, (std::vector<double>{9, 8, 7, 19, 18, 17}));
}

}  // namespace
}  // namespace ferry::testing
