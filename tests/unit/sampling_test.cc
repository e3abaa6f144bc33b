// Sampling: allowed tokens, their frequencies, reproducibility by seed; stop strings.
#include "sdk/text/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "sdk/text/stop_words.h"

namespace ferry::testing {
namespace {

// Softmax: 0.6439, 0.2369, 0.0871, 0.0321.
const std::vector<float> kLogits = {3, 2, 1, 0};

std::map<int32_t, double> shares(const Sampling& sampling, const std::vector<float>& logits = kLogits,
                                 const std::vector<int32_t>& past = {}) {
  constexpr int kDraws = 40000;
  Sampler sampler(sampling);
  Random random(7);
  std::map<int32_t, double> out;
  for (int i = 0; i < kDraws; ++i) {
    int32_t token = 0;
    EXPECT_TRUE(sampler.choose(logits, past, &random, &token).ok());
    out[token] += 1.0 / kDraws;
  }
  return out;
}

void expect_shares(const std::map<int32_t, double>& found, const std::map<int32_t, double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [token, share] : expected) {
    ASSERT_TRUE(found.contains(token)) << token;
    EXPECT_NEAR(found.at(token), share, 0.01) << token;  // four standard deviations for 40,000 draws
  }
}

// The published first values of Steele, Lea and Flood's generator for this seed.
TEST(RandomTest, IsSplitMix64) {
  Random random(1234567);
  for (const uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u})
    EXPECT_EQ(random.next(), static_cast<double>(expected >> 11) * 0x1p-53);
}

TEST(SamplingTest, TemperatureZeroTakesTheFirstOfTheMostProbable) {
  expect_shares(shares({}, {1, 4, 4, 0}), {{1, 1.0}});
}

TEST(SamplingTest, TemperatureFlattensOrSharpens) {
  expect_shares(shares({.temperature = 1}), {{0, 0.6439}, {1, 0.2369}, {2, 0.0871}, {3, 0.0321}});
  expect_shares(shares({.temperature = 2}), {{0, 0.4551}, {1, 0.2760}, {2, 0.1674}, {3, 0.1015}});
}

TEST(SamplingTest, TopKTopPAndMinPLeaveTheLargest) {
  expect_shares(shares({.temperature = 1, .top_k = 2}), {{0, 0.7311}, {1, 0.2689}});
  expect_shares(shares({.temperature = 1, .top_k = 9}), {{0, 0.6439}, {1, 0.2369}, {2, 0.0871}, {3, 0.0321}});
  expect_shares(shares({.temperature = 1, .top_p = 0.64f}), {{0, 1.0}});
  expect_shares(shares({.temperature = 1, .top_p = 0.65f}), {{0, 0.7311}, {1, 0.2689}});
  expect_shares(shares({.temperature = 1, .top_p = 0.9f}), {{0, 0.6652}, {1, 0.2447}, {2, 0.0900}});
  expect_shares(shares({.temperature = 1, .min_p = 0.3f}), {{0, 0.7311}, {1, 0.2689}});
  expect_shares(shares({.temperature = 1, .min_p = 1}), {{0, 1.0}});
  // top_p applies to the tokens left by top_k: 0.731 of two.
  expect_shares(shares({.temperature = 1, .top_k = 2, .top_p = 0.74f}), {{0, 0.7311}, {1, 0.2689}});
  expect_shares(shares({.temperature = 1, .top_k = 2, .top_p = 0.73f}), {{0, 1.0}});
}

TEST(SamplingTest, BiasAndPenaltyMoveLogits) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  expect_shares(shares({.bias = {{0, kNever}, {3, 5}}}), {{3, 1.0}});
  expect_shares(shares({.temperature = 1, .bias = {{0, kNever}}}), {{1, 0.6652}, {2, 0.2447}, {3, 0.0900}});
  // 3 / 2 is below 2; -1 * 2 below -1.5. Applied once, however often the token occurred.
  expect_shares(shares({.repetition_penalty = 2}, kLogits, {0, 0}), {{1, 1.0}});
  expect_shares(shares({.repetition_penalty = 2}, {-1, -1.5f}, {0}), {{1, 1.0}});
}

TEST(SamplingTest, LogProbabilityIsTheNetworks) {
  Sampler sampler({.temperature = 3, .top_k = 1, .bias = {{2, 9}}});
  Random random(0);
  int32_t token = 0;
  ASSERT_TRUE(sampler.choose(kLogits, {}, &random, &token).ok());
  EXPECT_EQ(token, 2);
  EXPECT_NEAR(log_probability(kLogits, token), std::log(0.0871), 1e-3);
}

TEST(SamplingTest, TheSameSeedDrawsTheSame) {
  std::vector<float> logits(5000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * 7919 % 5000) / 500;
  for (const Sampling& sampling :
       {Sampling{.temperature = 1}, Sampling{.temperature = 1, .top_k = 50, .top_p = 0.9f}}) {
    std::vector<int32_t> drawn[2];
    for (auto& list : drawn) {
      Sampler sampler(sampling);
      Random random(99);
      int32_t token = 0;
      for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(sampler.choose(logits, {}, &random, &token).ok());
        list.push_back(token);
      }
    }
    EXPECT_EQ(drawn[0], drawn[1]);
  }
}

TEST(SamplingTest, OutOfRangeOptionsAreReported) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::pair<Sampling, const char*> wrong[] = {
      {{.temperature = -1}, "temperature is -1"},
      {{.temperature = nan}, "temperature is nan"},
      {{.top_k = -1}, "top_k is -1"},
      {{.top_p = 0}, "top_p is 0"},
      {{.top_p = 1.5f}, "top_p is 1.5"},
      {{.min_p = 2}, "min_p is 2"},
      {{.repetition_penalty = 0}, "repetition_penalty is 0"},
      {{.bias = {{4, 1}}}, "token 4, which is not in the model's vocabulary of 4"},
      {{.bias = {{0, nan}}}, "the bias for token 0"},
  };
  for (const auto& [sampling, words] : wrong) {
    const Status status = Sampler::check(sampling, 4);
    EXPECT_EQ(status.code(), FERRY_INVALID_ARGUMENT) << words;
    EXPECT_NE(status.message().find(words), std::string_view::npos) << status.message();
  }
  EXPECT_TRUE(Sampler::check({}, 4).ok());
  Sampler sampler;
  Random random(0);
  int32_t token = 0;
  EXPECT_EQ(sampler.choose(std::vector<float>{nan, nan}, {}, &random, &token).code(), FERRY_CORRUPT);
}

// ---- stop strings

// The streamed pieces, with "|" after each, and "!" where a word was complete.
std::string streamed(const std::vector<std::string>& words, const std::vector<std::string>& pieces) {
  StopWords stop(words);
  std::string out;
  for (const std::string& piece : pieces) {
    const bool complete = stop.append(piece, &out);
    out += complete ? "!" : "|";
    if (complete) return out;
  }
  stop.finish(&out);
  return out;
}

TEST(StopWordsTest, PossiblePrefixesAreHeldBack) {
  EXPECT_EQ(streamed({}, {"a", "b"}), "a|b|");
  EXPECT_EQ(streamed({"END"}, {"the E", "N", "D of"}), "the ||!");
  EXPECT_EQ(streamed({"END"}, {"the E", "N", "tire"}), "the ||ENtire|");
  EXPECT_EQ(streamed({"END"}, {"the EN"}), "the |EN") << "the text ends before";
  EXPECT_EQ(streamed({"b", "abc"}, {"xabc"}), "x!") << "the one that begins first";
  EXPECT_EQ(streamed({"aab"}, {"a", "a", "a", "b"}), "||a|!");
  EXPECT_EQ(streamed({"", "x"}, {"yx"}), "y!") << "an empty word is none";
}

}  // namespace
}  // namespace ferry::testing
