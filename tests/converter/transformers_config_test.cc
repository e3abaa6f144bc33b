#include "models/vision/transformers_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converter/checkpoint/safetensors.h"
#include "converter/identify.h"
#include "converter/preprocessing/labels.h"
#include "models/families.h"
#include "models/vision/mobilenetv2/mobilenetv2.h"
#include "models/vision/swin/swin.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

using nlohmann::json;

TEST(TransformersConfig, SaysInputAndEpsilon) {
  const json config = json::parse(R"({"num_channels": 1, "image_size": [96, 160], "layer_norm_eps": 1e-7})");
  const ImageVariant variant = with_transformers_config({}, config);
  EXPECT_EQ(variant.in_chans, 1);
  EXPECT_EQ(variant.height, 96);
  EXPECT_EQ(variant.width, 160);
  EXPECT_EQ(variant.layer_norm_eps, 1e-7);
  EXPECT_EQ(with_transformers_config({}, {{"image_size", 384}}).width, 384);
  EXPECT_EQ(with_transformers_config({}, json::object()).layer_norm_eps, std::nullopt);
  EXPECT_TRUE(complaint([] { with_transformers_config({}, {{"image_size", "large"}}); }).starts_with("config.json: "));
}

TEST(TransformersConfig, DistinguishesAClassifierFromABaseModel) {
  const ImageVariant variant{.num_classes = 21};
  const auto classes = [&](const char* text) { return transformers_classes(json::parse(text), variant); };
  EXPECT_EQ(classes(R"({})"), 21);
  EXPECT_EQ(classes(R"({"architectures": ["ViTModel"], "id2label": {"0": "LABEL_0", "1": "LABEL_1"}})"), 0);
  EXPECT_EQ(classes(R"({"architectures": ["ViTForImageClassification"], "id2label": {"0": "a", "1": "b", "2": "c"}})"),
            3);
  // Two classes without names are transformers' default.
  EXPECT_EQ(classes(R"({"architectures": ["ViTForImageClassification"]})"), std::nullopt);
}

TEST(TransformersConfig, HasLabelsInOrder) {
  const auto labels = [](const char* text) { return transformers_labels(json::parse(text)); };
  EXPECT_EQ(labels(R"({"id2label": {"1": "dog", "0": "cat"}})"), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(labels(R"({"id2label": {"0": "LABEL_0", "1": "LABEL_1"}})"), std::vector<std::string>());
  EXPECT_EQ(complaint([&] { labels(R"({"id2label": {"0": "cat", "2": "dog"}})"); }),
            "config.json: id2label has 2 names but none for class 1");
}

TEST(TransformersConfig, OfSwinAndMobileNetV2) {
  // Empty if not published.
  const auto name = [](const Described& found) { return found.published ? found.row->architecture : ""; };
  EXPECT_EQ(name(swin::described_by(json::parse(R"({"model_type": "swin"})"))), "swin_tiny_patch4_window7_224");
  EXPECT_EQ(name(swin::described_by(json::parse(R"({"model_type": "swin", "embed_dim": 128, "depths": [2, 2, 18, 2],
                                                    "num_heads": [4, 8, 16, 32], "window_size": 12})"))),
            "swin_base_patch4_window12_384");
  EXPECT_EQ(swin::described_by(json::parse(R"({"model_type": "swinv2"})")).row, nullptr);
  EXPECT_EQ(name(swin::described_by({{"model_type", "swin"}, {"window_size", 8}})), "");
  EXPECT_EQ(name(mobilenetv2::described_by({{"model_type", "mobilenet_v2"}, {"depth_multiplier", 1.4}})),
            "mobilenet_v2_1.4");
  EXPECT_EQ(name(mobilenetv2::described_by({{"model_type", "mobilenet_v2"}, {"tf_padding", false}})), "");
}

// A vision transformer under transformers' names, all zeros.
class TransformersCheckpoint : public ::testing::Test {
 protected:
  void add(const std::string& key, std::vector<int64_t> shape) {
    size_t bytes = 2;
    for (int64_t d : shape) bytes *= static_cast<size_t>(d);
    if (zeros_.size() < bytes) zeros_.resize(bytes);
    shapes_[key] = std::move(shape);
  }
  void linear(const std::string& name, int64_t out, int64_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  }
  void norm(const std::string& name, int64_t width) {
    add(name + ".weight", {width});
    add(name + ".bias", {width});
  }

  void build(const std::string& root, int64_t width, int64_t patch, int64_t places, bool dinov2) {
    add(root + "embeddings.cls_token", {1, 1, width});
    add(root + "embeddings.position_embeddings", {1, places + 1, width});
    add(root + "embeddings.patch_embeddings.projection.weight", {width, 3, patch, patch});
    add(root + "embeddings.patch_embeddings.projection.bias", {width});
    if (dinov2) add(root + "embeddings.mask_token", {1, width});
    for (int b = 0; b < 12; ++b) {
      const std::string block = root + "encoder.layer." + std::to_string(b) + ".";
      norm(block + (dinov2 ? "norm1" : "layernorm_before"), width);
      norm(block + (dinov2 ? "norm2" : "layernorm_after"), width);
      for (const char* which : {"query", "key", "value"}) linear(block + "attention.attention." + which, width, width);
      linear(block + "attention.output.dense", width, width);
      linear(block + (dinov2 ? "mlp.fc1" : "intermediate.dense"), 4 * width, width);
      linear(block + (dinov2 ? "mlp.fc2" : "output.dense"), width, 4 * width);
      if (!dinov2) continue;
      add(block + "layer_scale1.lambda1", {width});
      add(block + "layer_scale2.lambda1", {width});
    }
    norm(root + "layernorm", width);
  }

  std::map<std::string, CheckpointTensor> tensors() const {
    std::map<std::string, CheckpointTensor> out;
    for (const auto& [key, shape] : shapes_) {
      size_t bytes = 2;
      for (int64_t d : shape) bytes *= static_cast<size_t>(d);
      out[key] = {ElementType::F16, shape, std::span(zeros_).subspan(0, bytes)};
    }
    return out;
  }

  std::shared_ptr<const Checkpoint> keys() const {
    auto checkpoint = std::make_shared<MemoryCheckpoint>();
    for (const auto& [key, shape] : shapes_) checkpoint->add(key, shape, std::vector<float>{});
    return checkpoint;
  }

  std::map<std::string, std::vector<int64_t>> shapes_;
  std::vector<std::byte> zeros_;
};

TEST_F(TransformersCheckpoint, OfDinov2IsKnownByItsKeys) {
  build("", 384, 14, 37 * 37, true);
  EXPECT_EQ(identify(families(), keys()).variant->hub, "facebook/dinov2-small");
}

TEST_F(TransformersCheckpoint, OfDinov2WithAClassifierIsKnownByItsKeys) {
  build("dinov2.", 384, 14, 37 * 37, true);
  linear("classifier", 10, 768);
  EXPECT_EQ(identify(families(), keys()).variant->hub, "facebook/dinov2-small-imagenet1k-1-layer");
}

TEST_F(TransformersCheckpoint, OfViTIsKnownByItsKeys) {
  build("vit.", 768, 16, 24 * 24, false);
  linear("classifier", 1000, 768);
  EXPECT_EQ(identify(families(), keys()).variant->hub, "google/vit-base-patch16-384");
}

TEST_F(TransformersCheckpoint, OfDinov2SavedForAnotherImageIsConvertedForIt) {
  build("", 384, 14, 16 * 16, true);
  EXPECT_EQ(identify(families(), keys()).variant->hub, "facebook/dinov2-small");
  const ScratchFolder folder;
  write_safetensors(folder.path() / "model.safetensors", tensors());
  ConvertOptions options;
  options.checkpoint = folder.path();
  options.passes = false;
  const auto input = [&] {
    const auto graph = convert_to_graph(options);
    return graph->shape(graph->table.inputs.front()->tensor);
  };
  EXPECT_EQ(input(), (Shape{1, 224, 224, 3}));
  options.settings.set("model", "dinov2_small");
  EXPECT_EQ(input(), (Shape{1, 224, 224, 3}));
  options.settings.erase("model");
  folder.write("config.json", R"({"model_type": "dinov2", "architectures": ["Dinov2Model"], "hidden_size": 384,
      "num_attention_heads": 6, "image_size": 518, "patch_size": 14})");
  EXPECT_EQ(input(), (Shape{1, 224, 224, 3}));
}

TEST_F(TransformersCheckpoint, IsConvertedForTheImagesOfItsProcessor) {
  build("", 192, 16, 14 * 14, false);
  linear("pooler.dense", 192, 192);
  const ScratchFolder folder;
  write_safetensors(folder.path() / "model.safetensors", tensors());
  folder.write("config.json", R"({"model_type": "vit", "architectures": ["ViTModel"], "hidden_size": 192,
      "num_attention_heads": 3, "intermediate_size": 768, "image_size": 224, "patch_size": 16})");
  ConvertOptions options;
  options.checkpoint = folder.path();
  options.passes = false;
  EXPECT_EQ(convert_to_graph(options)->table.preprocess->resize_h, 224);

  folder.write("preprocessor_config.json",
               R"({"image_processor_type": "ViTImageProcessor", "image_mean": [0.5, 0.5, 0.5],
      "image_std": [0.5, 0.5, 0.5], "size": {"height": 240, "width": 240}, "resample": 2})");
  const auto graph = convert_to_graph(options);
  const auto& model = graph->table;
  EXPECT_EQ(model.name, "vit_tiny_patch16_224");
  EXPECT_EQ(model.preprocess->resize_h, 240);
  ASSERT_EQ(model.outputs.size(), 2u);
  EXPECT_EQ(model.outputs[0]->name, "pooled");
  EXPECT_EQ(model.outputs[1]->name, "last_hidden_state");
  EXPECT_EQ(graph->shape(model.outputs[1]->tensor), (Shape{1, 226, 192}));
  EXPECT_EQ(model.postprocess->task, fbs::Task::Embedding);
}

}  // namespace
}  // namespace ferry
