#include "sdk/cpu/gemm/winograd.h"

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

// The transforms' additions cost accuracy: about 5 times the error of a direct sum, a twentieth of parity's bound.
constexpr double kWinogradBound = 5e-6;

fbs::Conv2dT conv(int top, int left, int bottom, int right) {
  fbs::Conv2dT p;
  p.pad_top = top;
  p.pad_left = left;
  p.pad_bottom = bottom;
  p.pad_right = right;
  return p;
}

int tile_of(const Shape& weight, const Shape& output) {
  fbs::OperatorT op;
  op.params.Set(fbs::Conv2dT());
  const SerializedOp serialized(op);
  return cpu::winograd_tile(*(*serialized).params_as_Conv2d(), weight, output);
}

TEST(Winograd, IsChosenIfItIsFaster) {
  EXPECT_EQ(tile_of({64, 3, 3, 64}, {1, 56, 56, 64}), 4);
  EXPECT_EQ(tile_of({128, 3, 3, 128}, {1, 28, 28, 128}), 4);
  EXPECT_EQ(tile_of({256, 3, 3, 256}, {1, 14, 14, 256}), 2);
#if defined(__aarch64__)
  constexpr int kSmallMap = 2;
#else
  constexpr int kSmallMap = 0;  // reads more weights than it saves products
#endif
  EXPECT_EQ(tile_of({512, 3, 3, 512}, {1, 7, 7, 512}), kSmallMap);
  EXPECT_EQ(tile_of({64, 3, 3, 3}, {1, 224, 224, 64}), 0);  // channels are not whole vectors
  EXPECT_EQ(tile_of({64, 1, 1, 64}, {1, 56, 56, 64}), 0);
  EXPECT_EQ(tile_of({64, 5, 5, 64}, {1, 56, 56, 64}), 0);
}

TEST(Winograd, MatchesTheOracleWithTilesOf4) {
  ASSERT_EQ(tile_of({40, 3, 3, 64}, {1, 33, 30, 40}), 4);
  const Operand weight = constant({40, 3, 3, 64}), bias = constant({40});
  for (const int size : {29, 30, 31, 32}) {
    SCOPED_TRACE(size);
    expect_like_oracle(conv(1, 1, 1, 1), {input({1, size, 33, 64}), weight, bias}, kWinogradBound);
  }
  expect_like_oracle(conv(0, 0, 0, 0), {input({1, 34, 31, 64}), weight, bias}, kWinogradBound);
  expect_like_oracle(conv(0, 2, 1, 3), {input({1, 31, 29, 64}), weight, bias}, kWinogradBound);
  expect_like_oracle(conv(1, 1, 1, 1), {input({3, 18, 19, 64}), weight}, kWinogradBound);
}

TEST(Winograd, MatchesTheOracleWithTilesOf2) {
  ASSERT_EQ(tile_of({128, 3, 3, 128}, {1, 10, 9, 128}), 2);
  const Operand weight = constant({128, 3, 3, 128}), bias = constant({128});
  for (const int size : {9, 10})
    expect_like_oracle(conv(1, 1, 1, 1), {input({1, size, 9, 128}), weight, bias}, kWinogradBound);
  expect_like_oracle(conv(0, 1, 2, 0), {input({1, 10, 11, 128}), weight, bias}, kWinogradBound);
}

// 484 tiles of 9 KB, more than one block.
TEST(Winograd, WorksInBlocks) {
  ASSERT_EQ(tile_of({32, 3, 3, 32}, {1, 87, 85, 32}), 4);
  expect_like_oracle(conv(1, 1, 1, 1), {input({1, 87, 85, 32}), constant({32, 3, 3, 32}), constant({32})},
                     kWinogradBound);
}

TEST(Winograd, ClampsItsOutput) {
  fbs::Conv2dT p = conv(1, 1, 1, 1);
  p.output_min = 0;
  p.output_max = 24;  // clamps some of the sums of 576 products
  size_t at_max = 0, at_min = 0;
  for (const float value :
       expect_like_oracle(p, {input({1, 30, 30, 64}), constant({32, 3, 3, 64}), constant({32})}, kWinogradBound)) {
    at_min += value == 0;
    at_max += value == 24;
  }
  EXPECT_GT(at_min, 0u);
  EXPECT_GT(at_max, 0u);
}

TEST(Winograd, WidensFloat16Weights) {
  expect_like_oracle(conv(1, 1, 1, 1),
                     {input({1, 30, 30, 32}), float16_constant({32, 3, 3, 32}), float16_constant({32})},
                     kWinogradBound);
}

}  // namespace
}  // namespace ferry::testing
