// Families of transformers with unpublished sizes, against PyTorch: the network follows the config.json beside the
// checkpoint.
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

constexpr SizesCase kTransformersSizesCases[] = {
#include "tests/converter/dense_fixture.inc"
#include "tests/converter/transformers_fixture.inc"
};

const SizesCase& case_of(const std::string& name) {
  return *std::find_if(std::begin(kTransformersSizesCases), std::end(kTransformersSizesCases),
                       [&](const SizesCase& c) { return c.torch.name == name; });
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
  // `key`: "depths", or "/backbone_config/hidden_size".
  std::string refusal(const char* name, const std::string& key, const nlohmann::json& value) {
    nlohmann::json config = nlohmann::json::parse(case_of(name).config);
    config[nlohmann::json::json_pointer(key.front() == '/' ? key : "/" + key)] = value;
    const ConvertOptions options = write(case_of(name), config);
    return complaint([&] { convert_to_graph(options); });
  }

  ScratchFolder folder_;
};

TEST_P(TransformersSizes, ComputeWhatPyTorchDoes) {
  const SizesCase& c = GetParam();
  const nlohmann::json config = nlohmann::json::parse(c.config);
  ConvertOptions options = write(c, config);
  // Those without a size in the config.
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

  // The variant in the provenance identifies the same network again.
  options.settings.set("model", "transformers/" + table.provenance->variant);
  EXPECT_EQ(convert_to_graph(options)->table.provenance->variant, table.provenance->variant);
}

INSTANTIATE_TEST_SUITE_P(TransformersSizes, TransformersSizes, ::testing::ValuesIn(kTransformersSizesCases),
                         [](const auto& tested) { return std::string(tested.param.torch.name); });

TEST_F(TransformersSizes, UnsupportedConfigsAreRefusedWithAMessage) {
  EXPECT_EQ(refusal("vit", "hidden_act", "mish").substr(0, 56),
            "config.json: hidden_act is \"mish\": expected one of gelu,");
  EXPECT_EQ(refusal("vit", "num_attention_heads", 5),
            "config.json: num_attention_heads is 5: expected a divisor of hidden_size, 12");
  EXPECT_EQ(refusal("vit", "hidden_size", "large"),
            "config.json: hidden_size is \"large\": expected an integer, 1 or more");
  EXPECT_EQ(refusal("vit", "patch_size", {2, 4}), "config.json: patch_size is [2,4]: expected a square");
  EXPECT_EQ(refusal("dinov2", "mlp_ratio", 0), "config.json: mlp_ratio is 0: expected a number above 0");
  EXPECT_EQ(refusal("dinov3", "num_attention_heads", 2),
            "config.json: num_attention_heads is 2: expected heads of a multiple of 4 channels, of hidden_size 12");
  EXPECT_EQ(refusal("swin", "use_absolute_embeddings", true),
            "config.json: use_absolute_embeddings is true: expected false");
  EXPECT_EQ(refusal("swin", "num_heads", {3, 2}),
            "config.json: num_heads is [3,2]: expected 3 numbers, one per element of depths");
  EXPECT_EQ(refusal("swin", "num_heads", {4, 2, 4}),
            "config.json: num_heads is [4,2,4]: expected divisors of 6 and its doubles");
  EXPECT_EQ(refusal("convnext", "depths", {1, 2}),
            "config.json: depths is [1,2]: expected 3 numbers, one per element of hidden_sizes");
  EXPECT_EQ(refusal("resnet_basic", "layer_type", "wide"),
            "config.json: layer_type is \"wide\": expected bottleneck or basic");
  EXPECT_EQ(refusal("mobilenet_v2", "first_layer_is_expansion", false),
            "config.json: first_layer_is_expansion is false: expected true");
  EXPECT_EQ(refusal("mobilenet_v2", "output_stride", 8), "config.json: output_stride is 8: expected 32");
}

TEST_F(TransformersSizes, UnsupportedSegformersAreRefusedWithAMessage) {
  EXPECT_EQ(refusal("segformer", "sr_ratios", {8, 4}),
            "config.json: sr_ratios is [8,4]: expected 3 numbers, as in num_encoder_blocks");
  EXPECT_EQ(refusal("segformer", "num_attention_heads", {2, 4, 5}),
            "config.json: num_attention_heads is [2,4,5]: expected divisors of hidden_sizes, [4,6,10]");
  EXPECT_EQ(refusal("segformer", "mlp_ratios", {4, 0, 4}),
            "config.json: mlp_ratios is [4,0,4]: expected numbers above 0");
  EXPECT_EQ(refusal("segformer", "reshape_last_stage", false),
            "config.json: reshape_last_stage is false: expected true");
}

TEST_F(TransformersSizes, UnsupportedDepthNetworksAreRefusedWithAMessage) {
  const auto refused = [&](const std::string& key, const nlohmann::json& value) {
    return refusal("depth_anything", key, value);
  };
  EXPECT_EQ(refused("depth_estimation_type", "absolute"),
            "config.json: depth_estimation_type is \"absolute\": expected relative or metric");
  EXPECT_EQ(refused("backbone", "facebook/dinov2-small"),
            "config.json: backbone is \"facebook/dinov2-small\": expected a backbone_config instead");
  EXPECT_EQ(refused("reassemble_factors", {4, 2, 1, 0.5}),
            "config.json: reassemble_factors is [4,2,1,0.5]: expected 3 numbers, one per element of neck_hidden_sizes");
  EXPECT_EQ(refused("reassemble_factors", {4, 1.5, 1}),
            "config.json: reassemble_factors is [4,1.5,1]: expected integers, and fractions below 1");
  EXPECT_EQ(
      refused("neck_hidden_sizes", {4, 5}),
      "config.json: neck_hidden_sizes is [4,5]: expected 3 numbers, one per element of the backbone's out_indices");
  EXPECT_EQ(refused("reassemble_hidden_size", 12),
            "config.json: reassemble_hidden_size is 12: expected 10, the backbone's hidden_size");
  EXPECT_EQ(refused("head_in_index", 3), "config.json: head_in_index is 3: expected one of the 3 levels");
  EXPECT_EQ(refused("/backbone_config/out_indices", {1, 3, 2}),
            "config.json: out_indices is [1,3,2]: expected stages from 0 to 3 in rising order");
  EXPECT_EQ(refused("/backbone_config/model_type", "swin"),
            "config.json: model_type is \"swin\": expected \"dinov2\" of the backbone");
  EXPECT_EQ(refused("/backbone_config/patch_size", 2), "config.json: patch_size is 2: expected that of both networks");
  EXPECT_EQ(refused("/backbone_config/reshape_hidden_states", true),
            "config.json: reshape_hidden_states is true: expected false");
}

TEST_F(TransformersSizes, ADepthBlobRunsAtOtherSizesThanItWasConvertedFor) {
  const SizesCase& c = case_of("depth_anything");
  nlohmann::json config = nlohmann::json::parse(c.config);
  const auto graph = convert_to_graph(write(c, config));
  EXPECT_EQ(graph->shape(graph->table.inputs.front()->tensor),
            (Shape{1, 12, 12, 3}));  // the size of the position table
  run_passes(*graph, {});
  const Shape other{1, c.height, c.width, 3};
  expect_near(run_on_torch_input(*graph, graph->table.outputs.front()->tensor, other), c.torch.output);

  const fbs::PostprocessT& post = *graph->table.postprocess;
  EXPECT_EQ(post.task, fbs::Task::Depth);
  ASSERT_NE(post.params.AsDepth(), nullptr);
  EXPECT_TRUE(post.params.AsDepth()->metric);
  EXPECT_FLOAT_EQ(post.params.AsDepth()->maximum, 2.5f);
  EXPECT_EQ(graph->table.preprocess->resize_mode, fbs::ResizeMode::LeastScaling);
  EXPECT_EQ(graph->table.preprocess->multiple_of, 4);  // the patch size

  // Levels by name, and counted from the end.
  config["backbone_config"]["out_features"] = {"stem", "stage1", "stage3"};
  config["backbone_config"].erase("out_indices");
  ConvertOptions options = write(c, config);
  options.settings.set("input-size", "8x16");
  const auto named = convert_to_graph(options);
  expect_near(run_on_torch_input(*named, named->table.outputs.front()->tensor), c.torch.output);
  config["backbone_config"]["out_indices"] = {-4, -3, -1};
  write(c, config);
  const auto counted = convert_to_graph(options);
  expect_near(run_on_torch_input(*counted, counted->table.outputs.front()->tensor), c.torch.output);
}

TEST_F(TransformersSizes, ASegmentationBlobRunsAtOtherSizesThanItWasConvertedFor) {
  const SizesCase& c = case_of("segformer");
  ConvertOptions options = write(c, nlohmann::json::parse(c.config));
  options.settings.set("input-size", "64x48");
  const auto graph = convert_to_graph(options);
  run_passes(*graph, {});
  expect_near(run_on_torch_input(*graph, graph->table.outputs.front()->tensor, {1, c.height, c.width, 3}),
              c.torch.output);
  EXPECT_EQ(graph->table.postprocess->task, fbs::Task::SemanticSegmentation);
  EXPECT_EQ(graph->table.labels, (std::vector<std::string>{"cat", "dog", "bird"}));
}

TEST_F(TransformersSizes, ACheckpointOfOtherSizesThanItsConfigIsRefused) {
  EXPECT_NE(refusal("vit", "intermediate_size", 24).find("module 'blocks.0.mlp.fc1' needs [24,12]"), std::string::npos);
  EXPECT_NE(refusal("vit", "num_hidden_layers", 2).find("the network does not use"), std::string::npos);
}

TEST_F(TransformersSizes, ARequestedSizeOverridesThePositionTable) {
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
