// Depth Anything under its authors' names: the same network as transformers', except for positions resampled to other
// grids. tests/converter/transformers_sizes_test.cc tests unusual sizes.
#include "models/vision/depth_anything/depth_anything.h"

#include <gtest/gtest.h>

#include "converter/identify.h"
#include "models/families.h"
#include "tests/converter/torch_case.h"

namespace ferry {
namespace {

using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

depth_anything::Config tiny() {
  return {.architecture = "",
          .width = 8,
          .depth = 4,
          .heads = 2,
          .hidden = 12,
          .levels = {1, 2, 3, 4},
          .neck = {3, 4, 5, 6},
          .fusion = 4,
          .patch = 2,
          .head = 5,
          .metric = true,
          .maximum = 20};
}

// The keys of the authors' checkpoint, with positions for side x side patches.
Shapes authors_keys(const depth_anything::Config& c, int64_t side) {
  Shapes keys;
  const int64_t width = c.width, fusion = c.fusion;
  const auto biased = [&](const std::string& module, std::vector<int64_t> shape, int64_t out) {
    keys.push_back({module + ".weight", std::move(shape)});
    keys.push_back({module + ".bias", {out}});
  };
  const std::string root = "pretrained.", head = "depth_head.", scratch = head + "scratch.";
  keys.push_back({root + "cls_token", {1, 1, width}});
  keys.push_back({root + "mask_token", {1, width}});
  keys.push_back({root + "pos_embed", {1, 1 + side * side, width}});
  biased(root + "patch_embed.proj", {width, 3, c.patch, c.patch}, width);
  biased(root + "norm", {width}, width);
  for (int b = 0; b < c.depth; ++b) {
    const std::string block = root + "blocks." + std::to_string(b);
    for (const char* i : {"1", "2"}) {
      biased(block + ".norm" + i, {width}, width);
      keys.push_back({block + ".ls" + i + ".gamma", {width}});
    }
    biased(block + ".attn.qkv", {3 * width, width}, 3 * width);
    biased(block + ".attn.proj", {width, width}, width);
    biased(block + ".mlp.fc1", {c.hidden, width}, c.hidden);
    biased(block + ".mlp.fc2", {width, c.hidden}, width);
  }
  for (size_t i = 0; i < 4; ++i) {
    const int64_t out = c.neck[i];
    const int kernel[] = {4, 2, 0, 3};
    const std::string level = std::to_string(i);
    biased(head + "projects." + level, {out, width, 1, 1}, out);
    if (kernel[i] > 0) biased(head + "resize_layers." + level, {out, out, kernel[i], kernel[i]}, out);
    keys.push_back({scratch + "layer" + std::to_string(i + 1) + "_rn.weight", {fusion, out, 3, 3}});
    const std::string refine = scratch + "refinenet" + std::to_string(i + 1);
    biased(refine + ".out_conv", {fusion, fusion, 1, 1}, fusion);
    for (const char* unit :
         {".resConfUnit1.conv1", ".resConfUnit1.conv2", ".resConfUnit2.conv1", ".resConfUnit2.conv2"})
      biased(refine + unit, {fusion, fusion, 3, 3}, fusion);
  }
  biased(scratch + "output_conv1", {fusion / 2, fusion, 3, 3}, fusion / 2);
  biased(scratch + "output_conv2.0", {c.head, fusion / 2, 3, 3}, c.head);
  biased(scratch + "output_conv2.2", {1, c.head, 1, 1}, 1);
  return keys;
}

std::shared_ptr<MemoryCheckpoint> authors_checkpoint(const Shapes& keys) {
  const auto file = std::make_shared<MemoryCheckpoint>();
  for (const auto& [key, shape] : keys) file->add(key, shape, torch_values(key, shape));
  return file;
}

// transformers' name for an authors' key.
std::string transformers_name(std::string key) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"pretrained.cls_token", "backbone.embeddings.cls_token"},
      {"pretrained.mask_token", "backbone.embeddings.mask_token"},
      {"pretrained.pos_embed", "backbone.embeddings.position_embeddings"},
      {"pretrained.patch_embed.proj", "backbone.embeddings.patch_embeddings.projection"},
      {"pretrained.norm", "backbone.layernorm"},
      {"pretrained.blocks.", "backbone.encoder.layer."},
      {".attn.proj", ".attention.output.dense"},
      {".ls1.gamma", ".layer_scale1.lambda1"},
      {".ls2.gamma", ".layer_scale2.lambda1"},
      {"depth_head.projects.0", "neck.reassemble_stage.layers.0.projection"},
      {"depth_head.projects.1", "neck.reassemble_stage.layers.1.projection"},
      {"depth_head.projects.2", "neck.reassemble_stage.layers.2.projection"},
      {"depth_head.projects.3", "neck.reassemble_stage.layers.3.projection"},
      {"depth_head.resize_layers.0", "neck.reassemble_stage.layers.0.resize"},
      {"depth_head.resize_layers.1", "neck.reassemble_stage.layers.1.resize"},
      {"depth_head.resize_layers.3", "neck.reassemble_stage.layers.3.resize"},
      {"depth_head.scratch.layer1_rn", "neck.convs.0"},
      {"depth_head.scratch.layer2_rn", "neck.convs.1"},
      {"depth_head.scratch.layer3_rn", "neck.convs.2"},
      {"depth_head.scratch.layer4_rn", "neck.convs.3"},
      {"depth_head.scratch.refinenet1", "neck.fusion_stage.layers.3"},
      {"depth_head.scratch.refinenet2", "neck.fusion_stage.layers.2"},
      {"depth_head.scratch.refinenet3", "neck.fusion_stage.layers.1"},
      {"depth_head.scratch.refinenet4", "neck.fusion_stage.layers.0"},
      {".out_conv", ".projection"},
      {".resConfUnit1.conv", ".residual_layer1.convolution"},
      {".resConfUnit2.conv", ".residual_layer2.convolution"},
      {"depth_head.scratch.output_conv1", "head.conv1"},
      {"depth_head.scratch.output_conv2.0", "head.conv2"},
      {"depth_head.scratch.output_conv2.2", "head.conv3"},
  };
  for (const auto& [from, to] : kNames)
    if (const size_t at = key.find(from); at != key.npos) key.replace(at, std::string_view(from).size(), to);
  return key;
}

std::shared_ptr<MemoryCheckpoint> transformers_checkpoint(const Shapes& keys) {
  const auto file = std::make_shared<MemoryCheckpoint>();
  for (const auto& [key, shape] : keys) {
    const std::vector<float> values = torch_values(key, shape);
    const size_t qkv = key.find(".attn.qkv");
    if (qkv == key.npos) {
      file->add(transformers_name(key), shape, values);
      continue;
    }
    std::vector<int64_t> part = shape;
    part.front() /= 3;
    const auto third = static_cast<std::ptrdiff_t>(values.size() / 3);
    auto begin = values.begin();
    for (const char* which : {"query", "key", "value"}) {
      std::string name = transformers_name(key);
      name.replace(name.find(".attn.qkv"), 9, std::string(".attention.attention.") + which);
      file->add(name, part, std::vector<float>(begin, begin + third));
      begin += third;
    }
  }
  return file;
}

std::vector<double> depth_of(const std::shared_ptr<const Checkpoint>& file, const depth_anything::Config& config,
                             const std::string& framework, const Shape& image) {
  const Naming& naming = naming_of(depth_anything::namings(), *file);
  EXPECT_EQ(naming.framework, framework);
  ImageVariant variant;
  variant.framework = framework;
  Graph graph;
  Ledger ledger(file, naming);
  depth_anything::build(graph, Weights(graph, ledger), {.variant = variant, .num_classes = 0, .height = 6, .width = 6},
                        config);
  ledger.finish();
  return run_on_torch_input(graph, graph.table.outputs.front()->tensor, image);
}

TEST(DepthAnything, TheAuthorsNamesAreTheSameNetwork) {
  const Shapes keys = authors_keys(tiny(), 3);
  for (const Shape& image : {Shape{1, 6, 6, 3}, Shape{1, 8, 4, 3}})
    expect_near(depth_of(authors_checkpoint(keys), tiny(), "DepthAnything", image),
                depth_of(transformers_checkpoint(keys), tiny(), "transformers", image));
}

TEST(DepthAnything, TheAuthorsPositionsDifferOnlyInOtherGridSizes) {
  const Shapes keys = authors_keys(tiny(), 3);
  depth_anything::Config own = tiny();
  own.position_offset = 0.1;
  const Shape trained{1, 6, 6, 3}, other{1, 6, 8, 3};
  const auto file = authors_checkpoint(keys);
  expect_near(depth_of(file, own, "DepthAnything", trained), depth_of(file, tiny(), "DepthAnything", trained));
  EXPECT_NE(depth_of(file, own, "DepthAnything", other), depth_of(file, tiny(), "DepthAnything", other));
}

TEST(DepthAnything, TheAuthorsCheckpointsAreIdentified) {
  const auto file = std::make_shared<MemoryCheckpoint>();
  for (const auto& [key, shape] : authors_keys(depth_anything::config_of("depth_anything_v2_vits"), 37))
    file->add(key, shape, std::vector<float>{});  // shapes only
  EXPECT_EQ(complaint([&] { identify(families(), file); }),
            "model.safetensors matches several models; choose with --model: depth_anything_v2_metric_indoor_vits, "
            "depth_anything_v2_metric_outdoor_vits, depth_anything_v2_vits, depth_anything_vits");
  const Identified indoor = identify(families(), *file, "depth_anything_v2_metric_indoor_vits");
  EXPECT_EQ(indoor.naming->framework, "DepthAnything");
  EXPECT_EQ(indoor.variant->hub, "depth-anything/Depth-Anything-V2-Metric-Hypersim-Small");
}

TEST(DepthAnything, PublishedVariantsDifferInLevelsAndUnits) {
  using depth_anything::config_of;
  EXPECT_EQ(config_of("depth_anything_vits").levels, (std::vector<int>{9, 10, 11, 12}));
  EXPECT_EQ(config_of("depth_anything_large").levels, (std::vector<int>{21, 22, 23, 24}));
  EXPECT_EQ(config_of("depth_anything_v2_base").levels, (std::vector<int>{3, 6, 9, 12}));
  EXPECT_EQ(config_of("depth_anything_v2_vitl").levels, (std::vector<int>{5, 12, 18, 24}));
  EXPECT_FALSE(config_of("depth_anything_v2_vitl").metric);
  EXPECT_EQ(config_of("depth_anything_v2_metric_indoor_vitb").maximum, 20);
  EXPECT_EQ(config_of("depth_anything_v2_metric_outdoor_small").maximum, 80);
  EXPECT_TRUE(config_of("depth_anything_v2_metric_outdoor_small").metric);
}

}  // namespace
}  // namespace ferry
