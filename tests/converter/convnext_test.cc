// Options of ConvNeXt that no parity fixture has, against PyTorch.
#include "models/vision/convnext/convnext.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/passes/passes.h"
#include "tests/converter/torch_case.h"

namespace ferry::convnext {
namespace {

constexpr TorchCase kConvnextCases[] = {
#include "tests/converter/convnext_fixture.inc"
};

class ConvNeXtOptions : public ::testing::TestWithParam<TorchCase> {};

TEST_P(ConvNeXtOptions, ComputeWhatPyTorchDoes) {
  const std::string name = GetParam().name;
  Config config{.architecture = "tiny", .depths = {1, 1, 1, 1}, .widths = {16, 24, 32, 40}};
  if (name == "overlap") config.stem = Stem::Overlap;
  if (name == "overlap_tiered") config.stem = Stem::OverlapTiered;
  config.norm_first = name == "norm_first";
  config.head_hidden = name == "head_mlp" ? 20 : 0;
  config.tokens = name == "transformers";

  const ImageVariant variant{.num_classes = config.tokens ? 0 : 3, .height = 64, .width = 96};
  const ImageOptions options{
      .variant = variant, .num_classes = variant.num_classes, .height = variant.height, .width = variant.width};
  Graph graph;
  Ledger ledger(torch_checkpoint(GetParam()), namings()[config.tokens ? 1 : 0]);
  build(graph, Weights(graph, ledger), options, config);
  ledger.finish();

  for (const char* stage : {"as built", "as packed"}) {
    SCOPED_TRACE(stage);
    std::vector<double> output = run_on_torch_input(graph, graph.table.outputs.back()->tensor);
    if (config.tokens) {  // [pooled, 2 x 3 positions] x 40 channels, of which the script keeps a few
      EXPECT_EQ(graph.table.outputs.back()->name, "last_hidden_state");
      const std::vector<double> pooled = run_on_torch_input(graph, graph.table.outputs.front()->tensor);
      ASSERT_EQ(output.size(), 7u * 40u);
      EXPECT_TRUE(std::equal(pooled.begin(), pooled.end(), output.begin()));
      std::vector<double> kept;
      for (size_t token : {0u, 6u})
        for (size_t channel = 0; channel < 40; channel += 13) kept.push_back(output[token * 40 + channel]);
      output = kept;
    }
    expect_near(output, GetParam().output);
    run_passes(graph, {});
  }
}

INSTANTIATE_TEST_SUITE_P(ConvNeXt, ConvNeXtOptions, ::testing::ValuesIn(kConvnextCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

// The published network that the config describes; empty if there is none.
std::string name(const nlohmann::json& config) {
  const Described found = described_by(config);
  return found.published ? found.row->architecture : "";
}

TEST(ConvNeXtConfig, IdentifiesTheDinov3Architectures) {
  nlohmann::json config = {{"model_type", "dinov3_convnext"},
                           {"depths", {3, 3, 27, 3}},
                           {"hidden_sizes", {128, 256, 512, 1024}},
                           {"layer_norm_eps", 1e-6}};
  EXPECT_EQ(name(config), "dinov3_convnext_base");
  config["hidden_act"] = "relu";
  EXPECT_EQ(name(config), "");
  config["model_type"] = "resnet";
  EXPECT_EQ(described_by(config).row, nullptr);
}

TEST(ConvNeXtConfig, IdentifiesTransformersOthers) {
  EXPECT_EQ(name({{"model_type", "convnext"}}), "convnext_tiny");  // transformers' defaults
  nlohmann::json config = {
      {"model_type", "convnextv2"}, {"depths", {2, 2, 8, 2}}, {"hidden_sizes", {80, 160, 320, 640}}};
  EXPECT_EQ(name(config), "convnextv2_nano");
  config["patch_size"] = 2;
  EXPECT_EQ(name(config), "");
}

}  // namespace
}  // namespace ferry::convnext
