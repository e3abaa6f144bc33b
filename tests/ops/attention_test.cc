#include <cmath>

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

constexpr double kAttentionBound = 3e-6;

struct AttentionSizes {
  int32_t samples, queries, keys, heads, depth, width;
  int32_t kv_heads = 0;  // as many as heads
  int32_t window = -1;   // a causal mask if 0 or more
  float softcap = 0;
};

std::vector<float> expect_attention(const AttentionSizes& s, const std::vector<Operand>& biases = {},
                                    double bound = kAttentionBound) {
  const int32_t kv_heads = s.kv_heads > 0 ? s.kv_heads : s.heads;
  fbs::AttentionT p;
  p.heads = s.heads;
  p.kv_heads = kv_heads;
  p.causal = s.window >= 0;
  p.window = std::max(s.window, 0);
  p.softcap = s.softcap;
  p.scale = 2 / std::sqrt(static_cast<float>(s.depth));
  std::vector<Operand> operands = {input({s.samples, s.queries, s.heads * s.depth}, -2, 2),
                                   input({s.samples, s.keys, kv_heads * s.depth}, -2, 2),
                                   input({s.samples, s.keys, kv_heads * s.width})};
  operands.insert(operands.end(), biases.begin(), biases.end());
  return expect_like_oracle(p, operands, bound);
}

TEST(Attention, MatchesTheOracle) {
  expect_attention({1, 1, 1, 1, 4, 4});
  expect_attention({3, 1, 7, 2, 8, 8});
  expect_attention({2, 49, 49, 3, 32, 32});
  expect_attention({1, 197, 197, 2, 64, 64});
  expect_attention({3, 65, 33, 1, 16, 48});
}

TEST(Attention, TakesHeadsOfAnySize) {
  for (const int32_t depth : {1, 2, 3, 5, 7, 18})
    for (const int32_t width : {1, 3, 6, 8}) {
      SCOPED_TRACE(std::to_string(depth) + " " + std::to_string(width));
      expect_attention({2, 9, 11, 3, depth, width});
    }
  expect_attention({1, 10, 40, 2, 100, 101});
  expect_attention({1, 35, 70, 1, 36, 260});
}

// More keys than one block.
TEST(Attention, TakesManyKeys) {
  expect_attention({1, 30, 600, 2, 8, 20});
  expect_attention({1, 7, 513, 4, 20, 8, 2}, {constant({1, 1, 7, 513}, -1100, 10)});
}

TEST(Attention, SharesHeadsOfKeys) {
  expect_attention({2, 13, 17, 6, 8, 12, 2});
  expect_attention({1, 13, 17, 4, 6, 5, 1});
}

TEST(Attention, AddsBiases) {
  const AttentionSizes windows{6, 10, 10, 3, 8, 8};
  expect_attention(windows, {constant({1, 3, 10, 10}, -3, 3)});
  expect_attention(windows, {constant({1, 3, 10, 10}, -3, 3), constant({3, 1, 10, 10}, -3, 3)});
  expect_attention(windows, {constant({6, 3, 1, 10}, -3, 3), constant({2, 3, 10, 10}, -3, 3)});
  expect_attention(windows, {input({1, 1, 1, 10}, -3, 3)});
  expect_attention(windows, {constant({1, 3, 10, 10}, -3, 3), input({2, 1, 10, 10}, -3, 3)});
  expect_attention({2, 33, 67, 2, 20, 40}, {constant({2, 2, 33, 67}, -3, 3)});
}

// Masked keys have no weight, even a whole block before the first visible one.
TEST(Attention, IgnoresMaskedKeys) { expect_attention({2, 9, 60, 2, 8, 8}, {constant({1, 1, 1, 60}, -1100, 100)}); }

// Scores of -550 have steps of 6e-5 in float32.
TEST(Attention, TakesVeryNegativeScores) {
  expect_attention({2, 9, 60, 2, 8, 8}, {constant({2, 2, 9, 60}, -600, -500)}, 6e-5);
}

TEST(Attention, SeesNoLaterKeys) {
  expect_attention({.samples = 2, .queries = 9, .keys = 9, .heads = 3, .depth = 8, .width = 8, .window = 0});
  expect_attention({.samples = 1, .queries = 70, .keys = 333, .heads = 2, .depth = 20, .width = 12, .window = 0});
  expect_attention({.samples = 1, .queries = 300, .keys = 300, .heads = 2, .depth = 7, .width = 5, .window = 0});
  expect_attention(
      {.samples = 2, .queries = 33, .keys = 67, .heads = 4, .depth = 20, .width = 40, .kv_heads = 2, .window = 0},
      {constant({2, 4, 33, 67}, -3, 3)});
}

TEST(Attention, SeesNoKeysBeforeTheWindow) {
  for (const int32_t window : {1, 5, 64, 65, 1000}) {
    SCOPED_TRACE(window);
    expect_attention({.samples = 1, .queries = 150, .keys = 400, .heads = 2, .depth = 8, .width = 8, .window = window});
  }
  expect_attention(
      {.samples = 2, .queries = 60, .keys = 60, .heads = 4, .depth = 16, .width = 4, .kv_heads = 2, .window = 7});
}

// Few queries read keys and values without packing.
TEST(Attention, TakesFewQueries) {
  for (const int32_t keys : {1, 2, 17, 255, 256, 700}) {
    SCOPED_TRACE(keys);
    expect_attention(
        {.samples = 2, .queries = 1, .keys = keys, .heads = 8, .depth = 8, .width = 8, .kv_heads = 4, .window = 0});
    expect_attention({.samples = 1, .queries = 1, .keys = keys, .heads = 3, .depth = 37, .width = 21, .window = 100});
  }
  expect_attention(
      {.samples = 1, .queries = 4, .keys = 300, .heads = 4, .depth = 64, .width = 64, .kv_heads = 2, .window = 0});
  expect_attention({.samples = 1, .queries = 5, .keys = 30, .heads = 2, .depth = 5, .width = 3, .window = 2},
                   {constant({1, 2, 5, 30}, -3, 3)});
}

// Small and large scores beside the cap, before biases and masks; packed keys, and few queries in place.
TEST(Attention, CapsScores) {
  for (const float softcap : {1e-3f, 2.0f, 50.0f, 1e6f}) {
    SCOPED_TRACE(softcap);
    expect_attention(
        {.samples = 2, .queries = 33, .keys = 301, .heads = 2, .depth = 20, .width = 40, .softcap = softcap},
        {constant({2, 2, 33, 301}, -3, 3)});
    expect_attention({.samples = 1,
                      .queries = 70,
                      .keys = 333,
                      .heads = 4,
                      .depth = 256,
                      .width = 256,
                      .kv_heads = 2,
                      .window = 100,
                      .softcap = softcap},
                     {});
    expect_attention({.samples = 1,
                      .queries = 1,
                      .keys = 300,
                      .heads = 4,
                      .depth = 64,
                      .width = 64,
                      .kv_heads = 2,
                      .window = 0,
                      .softcap = softcap},
                     {});
    expect_attention(
        {.samples = 1, .queries = 3, .keys = 40, .heads = 3, .depth = 7, .width = 5, .window = 9, .softcap = softcap},
        {});
  }
}

// An additional score per head without a value.
TEST(Attention, HasSinks) {
  const auto expect = [](const AttentionSizes& s, std::vector<Operand> biases) {
    const int32_t kv_heads = s.kv_heads > 0 ? s.kv_heads : s.heads;
    fbs::AttentionT p;
    p.heads = s.heads;
    p.kv_heads = kv_heads;
    p.causal = s.window >= 0;
    p.window = std::max(s.window, 0);
    p.sinks = true;
    std::vector<Operand> all = {input({s.samples, s.queries, s.heads * s.depth}, -2, 2),
                                input({s.samples, s.keys, kv_heads * s.depth}, -2, 2),
                                input({s.samples, s.keys, kv_heads * s.width})};
    all.insert(all.end(), biases.begin(), biases.end());
    const bool whole_quads = s.depth % 4 == 0 && s.width % 4 == 0;
    expect_like_oracle(p, all, kAttentionBound, {}, /*left_to_cpu=*/!whole_quads || biases.size() > 1);
  };
  for (const double size : {1.0, 30.0, 200.0}) {
    SCOPED_TRACE(size);
    const Operand sinks = constant({4}, -size, size);
    expect({.samples = 2, .queries = 60, .keys = 700, .heads = 4, .depth = 8, .width = 6, .kv_heads = 2, .window = 0},
           {sinks});
    expect({.samples = 2, .queries = 60, .keys = 700, .heads = 4, .depth = 8, .width = 12, .kv_heads = 2, .window = 0},
           {sinks});
    expect({.samples = 1, .queries = 1, .keys = 90, .heads = 4, .depth = 12, .width = 8, .window = 5}, {sinks});
    expect({.samples = 1, .queries = 60, .keys = 90, .heads = 4, .depth = 8, .width = 6, .window = 5}, {sinks});
    expect({.samples = 1, .queries = 1, .keys = 300, .heads = 4, .depth = 8, .width = 6, .kv_heads = 1, .window = 9},
           {input({4}, -size, size)});
    expect({.samples = 3, .queries = 9, .keys = 11, .heads = 4, .depth = 3, .width = 5},
           {constant({1, 4, 9, 11}, -3, 3), sinks});
  }
}

TEST(AttentionOracle, CountsByHand) {
  fbs::AttentionT p;
  p.scale = 2;
  const double third = std::log(3) / 2;  // e^(2 * third) = 3
  const reference::Array q{{1, 1, 1}, {1}}, k{{1, 2, 1}, {0, third}}, v{{1, 2, 2}, {4, 8, 0, 16}};
  const reference::Array plain = oracle(p, {q, k, v}), even = oracle(p, {q, k, v, {{1, 1, 1, 2}, {2 * third, 0}}});
  EXPECT_NEAR(plain.values[0], 1, 1e-6);  // 1/4 and 3/4 of the values
  EXPECT_NEAR(plain.values[1], 14, 1e-6);
  EXPECT_NEAR(even.values[0], 2, 1e-6);
  EXPECT_NEAR(even.values[1], 12, 1e-6);
  p.softcap = 1;  // the scores 0 and log(3) become 0 and tanh(log(3)) = 0.8
  EXPECT_NEAR(oracle(p, {q, k, v}).values[0], 4 / (1 + std::exp(0.8)), 1e-6);
  p.softcap = 0;
  p.causal = true;
  const reference::Array causal = oracle(p, {{{1, 2, 1}, {1, 1}}, k, v});
  EXPECT_EQ(causal.values[1], 8);  // the first query: the first value
  EXPECT_NEAR(causal.values[3], 14, 1e-6);
  p.window = 1;
  EXPECT_EQ(oracle(p, {{{1, 2, 1}, {1, 1}}, k, v}).values[3], 16);
  p.sinks = true;
  EXPECT_NEAR(oracle(p, {{{1, 2, 1}, {1, 1}}, k, v, {{1}, {0}}}).values[3], 12, 1e-6);  // 3/4 of it
}

}  // namespace
}  // namespace ferry::testing
