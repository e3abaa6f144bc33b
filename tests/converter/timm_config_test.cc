#include "models/vision/timm_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converter/checkpoint/safetensors.h"
#include "converter/identify.h"
#include "models/families.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

// A float16 ResNet-18 under timm's names, all zeros.
class TimmResNet18 : public ::testing::Test {
 protected:
  TimmResNet18() {
    conv_bn("conv1", "bn1", {64, 3, 7, 7});
    for (int64_t s = 1, in = 64; s <= 4; ++s) {
      const int64_t out = 32 << s;
      for (const char* b : {".0", ".1"}) {
        const std::string block = "layer" + std::to_string(s) + b;
        conv_bn(block + ".conv1", block + ".bn1", {out, in, 3, 3});
        conv_bn(block + ".conv2", block + ".bn2", {out, out, 3, 3});
        if (in != out) conv_bn(block + ".downsample.0", block + ".downsample.1", {out, in, 1, 1});
        in = out;
      }
    }
  }

  void conv_bn(const std::string& conv, const std::string& bn, const std::vector<int64_t>& shape) {
    zeros(conv + ".weight", shape);
    for (const char* leaf : {"weight", "bias", "running_mean", "running_var"}) zeros(bn + "." + leaf, {shape.front()});
  }

  void zeros(const std::string& key, const std::vector<int64_t>& shape) {
    size_t bytes = 2;
    for (int64_t d : shape) bytes *= static_cast<size_t>(d);
    tensors_[key] = {ElementType::F16, shape, std::span(zeros_).subspan(0, bytes)};
  }

  // For a checkpoint of so many classes, with this config.json beside it.
  ConvertOptions options(int64_t classes, const std::string& config) {
    zeros("fc.weight", {classes, 512});
    zeros("fc.bias", {classes});
    write_safetensors(folder_.path() / "model.safetensors", tensors_);
    folder_.write("config.json", config);
    ConvertOptions o;
    o.checkpoint = folder_.path();
    return o;
  }

  ScratchFolder folder_;
  std::vector<std::byte> zeros_ = std::vector<std::byte>(2 * 512 * 512 * 9);
  std::map<std::string, CheckpointTensor> tensors_;
};

TEST_F(TimmResNet18, HasTheClassesOfTransformersWrapper) {
  const auto graph = convert_to_graph(options(2, R"({"model_type": "timm_wrapper", "architecture": "resnet18",
      "architectures": ["TimmWrapperForImageClassification"], "num_classes": 2, "id2label": {"0": "cat", "1": "dog"},
      "pretrained_cfg": {"input_size": [3, 224, 224]}})"));
  EXPECT_EQ(graph->table.labels, (std::vector<std::string>{"cat", "dog"}));
}

TEST_F(TimmResNet18, IsTheTrainingThatItsConfigNames) {
  const auto graph = convert_to_graph(
      options(1000, R"({"architecture": "resnet18", "num_classes": 1000, "pretrained_cfg": {"tag": "a2_in1k"}})"));
  EXPECT_EQ(graph->table.name, "resnet18.a2_in1k");
  EXPECT_EQ(graph->table.labels.size(), 1000u);
  EXPECT_EQ(graph->table.labels[88], "macaw");
}

TEST_F(TimmResNet18, FineTunedModelsFollowTheirConfig) {
  const auto graph = convert_to_graph(options(3, R"({
    "architecture": "resnet18", "num_classes": 3, "label_names": ["n1", "n2", "n3"],
    "label_descriptions": {"n1": "oak", "n2": "elm"},
    "pretrained_cfg": {"tag": "trees", "input_size": [3, 160, 192], "interpolation": "bilinear", "crop_pct": 0.5,
                       "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}})"));
  const auto& model = graph->table;
  EXPECT_EQ(model.name, "resnet18.trees");
  EXPECT_EQ(model.provenance->variant, "resnet18.trees");
  EXPECT_EQ(model.labels, (std::vector<std::string>{"oak", "elm", "n3"}));
  EXPECT_EQ(model.preprocess->crop_h, 160);
  EXPECT_EQ(model.preprocess->crop_w, 192);
  EXPECT_EQ(model.preprocess->resize_mode, fbs::ResizeMode::Cover);
  EXPECT_EQ(model.preprocess->resize_h, 320);
  EXPECT_EQ(model.preprocess->resize_w, 384);
  EXPECT_EQ(model.preprocess->filter, fbs::Filter::Bilinear);
  EXPECT_EQ(model.preprocess->mean, (std::vector<float>{0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(model.preprocess->std, (std::vector<float>{0.25f, 0.25f, 0.25f}));
}

TEST_F(TimmResNet18, CropModeIsTheConfigs) {
  const auto graph = convert_to_graph(options(1000, R"({"architecture": "resnet18", "pretrained_cfg": {
      "input_size": [3, 160, 160], "crop_pct": 0.95, "crop_mode": "border", "mean": [0.5, 0.5, 0.5]}})"));
  const fbs::PreprocessT& preprocess = *graph->table.preprocess;
  EXPECT_EQ(preprocess.resize_mode, fbs::ResizeMode::Fit);
  EXPECT_EQ(preprocess.resize_h, 168);
  EXPECT_EQ(preprocess.fill, std::vector<float>(3, 128 / 255.0f));
}

TEST_F(TimmResNet18, OptionsOverrideTheConfig) {
  ConvertOptions o = options(1000, R"({"architecture": "resnet18", "pretrained_cfg": {"input_size": [3, 160, 192]}})");
  o.settings.set("input-size", 96);
  o.settings.set("model", "resnet18.a1_in1k");
  o.source = "hf:org/name";
  const auto graph = convert_to_graph(o);
  EXPECT_EQ(graph->table.preprocess->crop_h, 96);
  EXPECT_EQ(graph->table.provenance->source, "hf:org/name");
}

TEST_F(TimmResNet18, AnotherArchitectureInTheConfigIsRefused) {
  EXPECT_EQ(complaint([&] { convert_to_graph(options(3, R"({"architecture": "resnet19_odd"})")); }),
            "config.json of model.safetensors names timm's architecture \"resnet19_odd\", which Ferry does not know; "
            "`ferry models` lists all");
}

TEST(TimmConfig, RefusesUnknownValues) {
  const auto refusal = [](const char* pretrained) {
    const auto config =
        nlohmann::json::parse(R"({"architecture": "x", "pretrained_cfg": )" + std::string(pretrained) + "}");
    return complaint([&] { with_timm_config({}, config); });
  };
  EXPECT_EQ(refusal(R"({"interpolation": "random"})"),
            "config.json: the interpolation \"random\" is none of nearest, box, bilinear, hamming, bicubic, lanczos");
  EXPECT_EQ(refusal(R"({"input_size": [3, 224]})"), "config.json: input_size has 2 numbers, expected 3");
  EXPECT_EQ(refusal(R"({"crop_pct": 0})"), "config.json: crop_pct is 0");
  EXPECT_EQ(refusal(R"({"mean": [0.5]})"), "config.json: mean has 1 numbers and std 3");
  EXPECT_EQ(refusal(R"({"num_classes": -1})"), "config.json: num_classes is -1");
  EXPECT_TRUE(refusal(R"({"mean": "grey"})").starts_with("config.json: ")) << refusal(R"({"mean": "grey"})");
  EXPECT_TRUE(refusal("3").starts_with("config.json: ")) << refusal("3");
}

}  // namespace
}  // namespace ferry
