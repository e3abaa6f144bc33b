// Rope options of configurations: the angles against the papers' formulas and transformers' modeling_rope_utils.py.
#include "models/language/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>

#include "tests/converter/memory_checkpoint.h"
#include "tests/support/paths.h"

namespace ferry::language {
namespace {

using nlohmann::json;

Rope rope(const json& config, int head = 8, const RopeDefaults& spelling = {}) {
  return rope_of(Configuration(config, "config.json"), head, spelling);
}

// Frequencies are float32 values, rounded in each step like the reference's.
constexpr double kRounded = 0x1p-22;

void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], kRounded * b[i]) << "pair " << i;
}

const std::vector<double> kPlain = {1, 0.1, 0.01, 0.001};  // theta 10000, 8 channels

TEST(Rope, LinearDividesAndDynamicIsPlainUpToTheTrainedLength) {
  expect_near(rope(json::object()).frequencies, kPlain);
  expect_near(rope({{"rope_scaling", {{"type", "linear"}, {"factor", 4}}}}).frequencies,
              {0.25, 0.025, 0.0025, 0.00025});
  expect_near(rope({{"rope_scaling", {{"type", "dynamic"}, {"factor", 4}}}}).frequencies, kPlain);
}

TEST(Rope, ThetaAndPartAreReadWhereverTheyAre) {
  expect_near(rope({{"rope_theta", 16.0}}).frequencies, {1, 0.5, 0.25, 0.125});
  expect_near(rope({{"rope_parameters", {{"rope_theta", 16.0}}}}).frequencies, {1, 0.5, 0.25, 0.125});
  expect_near(rope(json::object(), 8, {.theta = 16}).frequencies, {1, 0.5, 0.25, 0.125});
  const RopeDefaults partial{.partial = true};
  for (const json& config : {json{{"rope_theta", 16.0}, {"partial_rotary_factor", 0.5}},
                             json{{"rope_parameters", {{"rope_theta", 16.0}, {"partial_rotary_factor", 0.5}}}}})
    expect_near(rope(config, 8, partial).frequencies, {1, 0.25});
}

TEST(Rope, LayersOfTwoTypesHaveTheirOwn) {
  const RopeDefaults local{.theta_name = "rope_local_base_freq", .scaling_name = nullptr, .layer_type = "sliding"};
  const json before = {
      {"rope_theta", 1e8}, {"rope_local_base_freq", 16.0}, {"rope_scaling", {{"type", "linear"}, {"factor", 4}}}};
  expect_near(rope(before, 8, local).frequencies, {1, 0.5, 0.25, 0.125});
  const json since = {{"rope_parameters", {{"sliding", {{"rope_theta", 16.0}}}, {"full", {{"rope_theta", 1e8}}}}}};
  expect_near(rope(since, 8, local).frequencies, {1, 0.5, 0.25, 0.125});
}

// With 16 channels and theta 16, pair d rotates length * 16^(-d / 8) / (2 pi) times within the original length.
TEST(Rope, YarnStretchesLowFrequencies) {
  json yarn = {{"rope_type", "yarn"}, {"factor", 4.0},    {"original_max_position_embeddings", 256},
               {"beta_fast", 32.0},   {"beta_slow", 8.0}, {"rope_theta", 16.0}};
  const json config = {{"max_position_embeddings", 1024}, {"rope_parameters", yarn}};
  const double low = std::floor(8 * std::log(256 / (2 * std::numbers::pi * 32)) / std::log(16.0));
  const double high = std::ceil(8 * std::log(256 / (2 * std::numbers::pi * 8)) / std::log(16.0));
  ASSERT_EQ(low, 0);
  ASSERT_EQ(high, 5);
  const Rope made = rope(config, 16);
  for (size_t i = 0; i < 8; ++i) {
    const double stretched = std::min(static_cast<double>(i) / 5, 1.0);
    EXPECT_NEAR(made.frequencies[i], std::pow(16.0, -static_cast<double>(i) / 8) * (1 - 0.75 * stretched), kRounded)
        << i;
  }
  EXPECT_DOUBLE_EQ(made.scale, 0.1 * std::log(4.0) + 1);

  const auto scale = [&](const json& more) {
    json changed = config;
    changed["rope_parameters"].update(more);
    return rope(changed, 16).scale;
  };
  EXPECT_DOUBLE_EQ(scale({{"attention_factor", 1.5}}), 1.5);
  EXPECT_DOUBLE_EQ(scale({{"mscale", 2.0}, {"mscale_all_dim", 2.0}}), 1);
  EXPECT_DOUBLE_EQ(scale({{"mscale", 2.0}, {"mscale_all_dim", 1.0}}),
                   (0.2 * std::log(4.0) + 1) / (0.1 * std::log(4.0) + 1));
  EXPECT_DOUBLE_EQ(scale({{"factor", nullptr}}), 0.1 * std::log(4.0) + 1) << "1024 / 256";
}

TEST(Rope, LongropeHasFactorsForShortAndForLongTexts) {
  json longrope = {{"rope_type", "longrope"}, {"short_factor", {1, 2, 4, 5}}, {"long_factor", {2, 4, 8, 10}}};
  json config = {{"max_position_embeddings", 256}, {"original_max_position_embeddings", 16}};
  config["rope_scaling"] = longrope;
  const Rope made = rope(config);
  expect_near(made.frequencies, {1, 0.05, 0.0025, 0.0002});
  ASSERT_TRUE(made.long_context);
  expect_near(made.long_context->frequencies, {0.5, 0.025, 0.00125, 0.0001});
  EXPECT_EQ(made.long_context->short_length, 16);
  EXPECT_DOUBLE_EQ(made.scale, std::sqrt(2.0)) << "1 + ln(256 / 16) / ln 16";
  config["rope_scaling"]["type"] = "su";
  config["rope_scaling"].erase("rope_type");
  EXPECT_EQ(rope(config).frequencies, made.frequencies);

  // The table's length decides, at every position.
  Graph graph;
  const Tensor places = graph.add_input("places", {3}, fbs::Layout::Same, fbs::DType::Int32);
  const auto sine_of_place_1 = [&](int count) {
    rotation(made, places, count);
    const auto& op = graph.table.operators.back();
    return graph.values(op->inputs[0]).at(8);
  };
  EXPECT_DOUBLE_EQ(sine_of_place_1(16), std::sin(1.0) * std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(sine_of_place_1(17), std::sin(0.5) * std::sqrt(2.0));
}

struct FarPositions {
  const char* name;                // in tests/data/published
  std::vector<double> cosines[2];  // at positions 100,000 and 131,071
};

TEST(Rope, FarPositionsTurnAsInTheReference) {
  const FarPositions cases[] = {
#include "tests/converter/rope_fixture.inc"
  };
  for (const FarPositions& far : cases) {
    SCOPED_TRACE(far.name);
    json config =
        json::parse(std::ifstream(source_folder() / "tests" / "data" / "published" / far.name / "config.json"));
    const int width = config["hidden_size"].get<int>() / config["num_attention_heads"].get<int>();
    const int head = config.value("qk_rope_head_dim", config.value("head_dim", width));
    if (config["rope_scaling"].is_object() && config["rope_scaling"].contains("long_factor"))
      for (size_t i = 0; i < config["rope_scaling"]["long_factor"].size(); ++i)
        config["rope_scaling"]["long_factor"][i] = 1 + static_cast<double>(i * i) / 64;
    const Rope made = rope(config, head);
    ASSERT_EQ(made.frequencies.size(), far.cosines[0].size());
    const bool is_long = made.long_context.has_value();
    const std::vector<double>& frequencies = is_long ? made.long_context->frequencies : made.frequencies;
    for (size_t pair = 0; pair < frequencies.size(); ++pair)
      for (const size_t i : {0u, 1u}) {
        const float angle = static_cast<float>(i == 0 ? 100000 : 131071) * static_cast<float>(frequencies[pair]);
        EXPECT_NEAR(std::cos(static_cast<double>(angle)), far.cosines[i][pair], 1e-4) << "pair " << pair;
      }
  }
}

TEST(Rope, TablesRoundAnglesAsTheReference) {
  const Rope third{.frequencies = {1.0 / 3}};  // of no type: float32 rounds the product, not the frequency
  Graph graph;
  const Tensor places = graph.add_input("places", {3}, fbs::Layout::Same, fbs::DType::Int32);
  rotation(third, places, 100001);
  const std::vector<double> table = graph.values(graph.table.operators.front()->inputs[0]);
  EXPECT_EQ(table.at(200000), std::cos(static_cast<double>(static_cast<float>(100000 / 3.0))));
}

TEST(Rope, AnglesThatAreNotFiniteAreRefused) {
  const json longrope = {{"rope_type", "longrope"}, {"short_factor", {1, 1, 1, 1}}, {"long_factor", {1, 1, 1, 1}}};
  const json config = {
      {"max_position_embeddings", 64}, {"original_max_position_embeddings", 1}, {"rope_parameters", longrope}};
  const std::string said = complaint([&] { rope(config); });
  EXPECT_NE(said.find("'longrope' with rope_theta 10000 results in infinite angles"), std::string::npos) << said;
}

}  // namespace
}  // namespace ferry::language
