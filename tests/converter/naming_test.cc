#include "converter/graph/naming.h"

#include <gtest/gtest.h>

#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

Naming transformers() {
  return {
      .framework = "transformers",
      .keys = {{"layer{s}.{b}.conv{i}", {"stages.{s-1}.layers.{b}.layer.{i-1}.convolution"}},
               {"blocks.1.{b}", {"features.{b+12}"}}},
      .taps = {{"layer{s}.{b}.act1", {"stages.{s-1}.layers.{b}.layer.0", "stages.{s-1}.layers.{b}.layer.0.activation"}},
               {"layer{s}.{b}.shortcut", {}}}};
}

TEST(Naming, RendersNumbersWithTheirArithmetic) {
  EXPECT_EQ(source_module(transformers(), "layer3.11.conv2"), "stages.2.layers.11.layer.1.convolution");
  EXPECT_EQ(source_module(transformers(), "blocks.1.3"), "features.15");
}

TEST(Naming, LeavesAModuleThatNoRuleMatchesItsName) {
  EXPECT_EQ(source_module(transformers(), "fc"), "fc");
  EXPECT_EQ(source_module(transformers(), "layer3.11.conv2.extra"), "layer3.11.conv2.extra");
  EXPECT_EQ(source_module(transformers(), "layerx.1.conv2"), "layerx.1.conv2");
}

TEST(Naming, APlaceholderUsedTwiceStandsForOneNumber) {
  const Naming naming{.keys = {{"a{i}.b{i}", {"same.{i}"}}}};
  EXPECT_EQ(source_module(naming, "a4.b4"), "same.4");
  EXPECT_EQ(source_module(naming, "a4.b5"), "a4.b5");
}

TEST(Naming, TapsHaveTheirOwnRulesAndElseFollowTheKeys) {
  EXPECT_EQ(tap_names(transformers(), "layer1.0.act1"),
            (std::vector<std::string>{"stages.0.layers.0.layer.0", "stages.0.layers.0.layer.0.activation"}));
  EXPECT_EQ(tap_names(transformers(), "layer1.0.conv1"),
            std::vector<std::string>{"stages.0.layers.0.layer.0.convolution"});
  EXPECT_TRUE(tap_names(transformers(), "layer1.0.shortcut").empty());
}

TEST(Naming, TwoRulesForOneModuleAreRefused) {
  const Naming naming{.framework = "keras", .keys = {{"conv{i}", {"a"}}, {"conv1", {"b"}}}};
  EXPECT_EQ(source_module(naming, "conv2"), "a");
  EXPECT_EQ(complaint([&] { source_module(naming, "conv1"); }),
            "rename table of keras: module 'conv1' matches two rules, 'conv{i}' and 'conv1'");
}

TEST(Naming, AnUnknownPlaceholderIsRefused) {
  const Naming naming{.keys = {{"conv{i}", {"a.{j}"}}}};
  EXPECT_EQ(complaint([&] { source_module(naming, "conv1"); }), "rename table: 'a.{j}' uses an unknown placeholder");
}

}  // namespace
}  // namespace ferry
