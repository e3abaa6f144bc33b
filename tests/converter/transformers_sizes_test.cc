// Families of transformers' with sizes that nobody published, against PyTorch: the network follows the config.json
// beside the checkpoint.
#include <nlohmann/json.hpp>

#include "converter/checkpoint/safetensors.h"
#include "converter/passes/passes.h"
#include "models/families.h"
#include "tests/converter/torch_case.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

struct SizesCase {
  TorchCase torch;
  const char* config;
  int height, width;
};

const SizesCase kCases[] = {
#include "tests/converter/transformers_fixture.inc"
};

const SizesCase& case_of(const std::string& name) {
  return *std::find_if(std::begin(kCases), std::end(kCases), [&](const SizesCase& c) { return c.torch.name == name; });
}

class TransformersSizes : public ::testing::TestWithParam<SizesCase> {
 protected:
  ConvertOptions write(const SizesCase& c, const nlohmann::json& config) {
    std::map<std::string, CheckpointTensor> tensors;
    const auto file = torch_checkpoint(c.torch);
    write_safetensors(folder_.path() / "model.safetensors", file->tensors());
    folder_.write("config.json", config.dump());
    ConvertOptions options;
    options.checkpoint = folder_.path();
    options.passes = false;
    return options;
  }
  std::string refusal(const char* name, const char* key, const nlohmann::json& value) {
    nlohmann::json config = nlohmann::json::parse(case_of(name).config);
    config[key] = value;
    const ConvertOptions options = write(case_of(name), config);
    return complaint([&] { convert_to_graph(options); });
  }

  ScratchFolder folder_;
};

TEST_P(TransformersSizes, ComputeWhatPyTorchDoes) {
  const SizesCase& c = GetParam();
  const nlohmann::json config = nlohmann::json::parse(c.config);
  ConvertOptions options = write(c, config);
  // Those without a size to follow.
  if (!config.contains("image_size"))
    options.settings.set("input-size", std::to_string(c.height) + "x" + std::to_string(c.width));
  const auto graph = convert_to_graph(options);
  const auto& table = graph->table;
  EXPECT_EQ(graph->shape(table.inputs.front()->tensor), (Shape{1, c.height, c.width, 3}));
  EXPECT_EQ(table.provenance->variant, config["model_type"]);
  EXPECT_EQ(table.provenance->framework, "transformers");
  EXPECT_EQ(table.labels.size(), config.contains("id2label") ? 3u : 0u);
  for (const char* stage : {"as built", "as packed"}) {
    SCOPED_TRACE(stage);
    expect_near(run_on_torch_input(*graph, table.outputs.front()->tensor), c.torch.output);
    run_passes(*graph, {});
  }

  // What the blob says it is finds the same network again.
  options.model = "transformers/" + table.provenance->variant;
  EXPECT_EQ(convert_to_graph(options)->table.provenance->variant, table.provenance->variant);
}

INSTANTIATE_TEST_SUITE_P(TransformersSizes, TransformersSizes, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.torch.name); });

TEST_F(TransformersSizes, WhatIsNotBuiltIsRefusedWithASentence) {
  EXPECT_EQ(refusal("vit", "hidden_act", "mish").substr(0, 56),
            "config.json: hidden_act is \"mish\": expected one of gelu,");
  EXPECT_EQ(refusal("vit", "num_attention_heads", 5),
            "config.json: num_attention_heads is 5: expected a divisor of hidden_size, 12");
  EXPECT_EQ(refusal("vit", "hidden_size", "large"),
            "config.json: hidden_size is \"large\": expected a whole number, 1 or more");
  EXPECT_EQ(refusal("vit", "patch_size", {2, 4}), "config.json: patch_size is [2,4]: expected a square");
  EXPECT_EQ(refusal("dinov2", "mlp_ratio", 0), "config.json: mlp_ratio is 0: expected a number above 0");
  EXPECT_EQ(refusal("dinov3", "num_attention_heads", 2),
            "config.json: num_attention_heads is 2: expected heads of a multiple of 4 channels, of hidden_size 12");
  EXPECT_EQ(refusal("swin", "use_absolute_embeddings", true),
            "config.json: use_absolute_embeddings is true: expected false");
  EXPECT_EQ(refusal("swin", "num_heads", {3, 2}),
            "config.json: num_heads is [3,2]: expected 3 numbers, as many as depths has");
  EXPECT_EQ(refusal("swin", "num_heads", {4, 2, 4}),
            "config.json: num_heads is [4,2,4]: expected divisors of 6 and its doubles");
  EXPECT_EQ(refusal("convnext", "depths", {1, 2}),
            "config.json: depths is [1,2]: expected 3 numbers, as many as hidden_sizes has");
  EXPECT_EQ(refusal("resnet_basic", "layer_type", "wide"),
            "config.json: layer_type is \"wide\": expected bottleneck or basic");
  EXPECT_EQ(refusal("mobilenet_v2", "first_layer_is_expansion", false),
            "config.json: first_layer_is_expansion is false: expected true");
  EXPECT_EQ(refusal("mobilenet_v2", "output_stride", 8), "config.json: output_stride is 8: expected 32");
}

TEST_F(TransformersSizes, ACheckpointOfOtherSizesThanItsConfigIsRefused) {
  EXPECT_NE(refusal("vit", "intermediate_size", 24).find("module 'blocks.0.mlp.fc1' needs [24,12]"), std::string::npos);
  EXPECT_NE(refusal("vit", "num_hidden_layers", 2).find("the network has no use for"), std::string::npos);
}

TEST_F(TransformersSizes, APictureThatIsAskedForComesBeforeTheTableOfPositions) {
  const SizesCase& c = case_of("dinov2");
  ConvertOptions options = write(c, nlohmann::json::parse(c.config));
  options.settings.set("input-size", "6x10");
  const auto graph = convert_to_graph(options);
  EXPECT_EQ(graph->shape(graph->table.inputs.front()->tensor), (Shape{1, 6, 10, 3}));
  folder_.write("preprocessor_config.json",
                R"({"image_processor_type": "BitImageProcessor", "image_mean": [0.5, 0.5, 0.5],
                    "image_std": [0.5, 0.5, 0.5], "size": {"shortest_edge": 14},
                    "crop_size": {"height": 12, "width": 12}})");
  options.settings = {};
  const auto prepared = convert_to_graph(options);
  EXPECT_EQ(prepared->shape(prepared->table.inputs.front()->tensor), (Shape{1, 12, 12, 3}));
}

}  // namespace
}  // namespace ferry
