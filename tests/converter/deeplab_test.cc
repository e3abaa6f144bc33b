// torchvision's segmentation networks, identified by the keys of their checkpoints; shapes only.
// tests/parity/families_test.cc compares results.
#include "models/vision/deeplab/deeplab.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "converter/convert.h"
#include "converter/identify.h"
#include "models/families.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

using Keys = std::map<std::string, std::vector<int64_t>>;

Keys keys_of(const char* fixture) {
  const auto folder = source_folder() / "tests" / "data" / "fixtures" / fixture;
  const nlohmann::json manifest = nlohmann::json::parse(read_text(folder / "manifest.json"));
  Keys keys;
  for (const auto& tensor : manifest["tensors"]) keys[tensor["name"]] = tensor["shape"].get<std::vector<int64_t>>();
  return keys;
}

std::shared_ptr<MemoryCheckpoint> checkpoint_of(const Keys& keys) {
  auto checkpoint = std::make_shared<MemoryCheckpoint>();
  for (const auto& [key, shape] : keys) checkpoint->add(key, shape, std::vector<float>{});
  return checkpoint;
}

// The graph of a checkpoint without values.
std::unique_ptr<Graph> graph_of(const std::shared_ptr<MemoryCheckpoint>& checkpoint, const Settings& settings = {}) {
  const Identified found = identify(families(), checkpoint);
  const nlohmann::json none;
  const Configured network = found.family->configure({.checkpoint = checkpoint,
                                                      .naming = *found.naming,
                                                      .variant = *found.variant,
                                                      .config = none,
                                                      .settings = settings,
                                                      .labels = {}});
  Ledger ledger(checkpoint, *found.naming, Ledger::Mode::Try);
  return std::move(build_graphs(network, ledger).front());
}

Settings with(const char* name, const char* value) {
  Settings settings;
  settings.set(name, value);
  return settings;
}

const fbs::PortT& output_of(const Graph& graph) { return *graph.table.outputs.front(); }

// A ResNet with 23 blocks in its third stage.
Keys deepened(Keys keys) {
  const std::string last = "backbone.layer3.5.";
  const Keys before = keys;
  for (const auto& [key, shape] : before)
    for (int b = 6; key.starts_with(last) && b < 23; ++b)
      keys["backbone.layer3." + std::to_string(b) + "." + key.substr(last.size())] = shape;
  return keys;
}

// torchvision's option reduced_tail: half the channels from the last stage on.
Keys with_reduced_tail(Keys keys) {
  for (auto& [key, shape] : keys)
    for (int64_t& size : shape)
      if (key.starts_with("backbone.13.") || key.starts_with("backbone.14.") || key.starts_with("backbone.15.") ||
          key.starts_with("backbone.16.") || key.starts_with("classifier."))
        if (size == 160 || size == 240 || size == 960) size /= 2;
  return keys;
}

TEST(DeepLab, TheKeysIdentifyTheNetwork) {
  const auto name = [](const Keys& keys) { return identify(families(), checkpoint_of(keys)).variant->hub; };
  EXPECT_EQ(name(keys_of("deeplabv3_resnet50")), "torchvision/deeplabv3_resnet50.coco_with_voc_labels_v1");
  EXPECT_EQ(name(deepened(keys_of("deeplabv3_resnet50"))), "torchvision/deeplabv3_resnet101.coco_with_voc_labels_v1");
  EXPECT_EQ(name(keys_of("deeplabv3_mobilenet_v3_large")),
            "torchvision/deeplabv3_mobilenet_v3_large.coco_with_voc_labels_v1");
  EXPECT_EQ(name(keys_of("fcn_resnet50")), "torchvision/fcn_resnet50.coco_with_voc_labels_v1");
  EXPECT_EQ(name(deepened(keys_of("fcn_resnet50"))), "torchvision/fcn_resnet101.coco_with_voc_labels_v1");
  EXPECT_EQ(name(keys_of("lraspp_mobilenet_v3_large")),
            "torchvision/lraspp_mobilenet_v3_large.coco_with_voc_labels_v1");
}

TEST(DeepLab, TheAuxiliaryHeadIsLeftOutWithOrWithoutIt) {
  const Keys keys = keys_of("fcn_resnet50");
  auto with = checkpoint_of(keys), without = checkpoint_of(keys);
  for (const auto& [key, shape] : keys)
    if (key.starts_with("aux_classifier.")) without->remove(key);
  ASSERT_LT(without->tensors().size(), with->tensors().size());
  const auto graph = graph_of(with);
  EXPECT_EQ(graph->table.operators.size(), graph_of(without)->table.operators.size());
  for (const auto& tap : graph->table.taps) EXPECT_FALSE(tap->name.starts_with("aux")) << tap->name;
}

TEST(DeepLab, ClassesAndWidthsAreTheCheckpoints) {
  Keys keys = keys_of("lraspp_mobilenet_v3_large");
  EXPECT_EQ(graph_of(checkpoint_of(keys))->shape(output_of(*graph_of(checkpoint_of(keys))).tensor),
            (Shape{1, 520, 520, 5}));
  for (const char* head : {"classifier.low_classifier", "classifier.high_classifier"}) {
    keys[std::string(head) + ".weight"][0] = 19;
    keys[std::string(head) + ".bias"][0] = 19;
  }
  const auto narrow = graph_of(checkpoint_of(with_reduced_tail(keys)), with("input-size", "65x97"));
  EXPECT_EQ(narrow->shape(output_of(*narrow).tensor), (Shape{1, 65, 97, 19}));
  EXPECT_EQ(complaint([&] { graph_of(checkpoint_of(keys), with("num-classes", "21")); }),
            "classifier 'classifier' has 19 classes, expected 21: use --num-classes 19 if the checkpoint is right");
}

TEST(DeepLab, ATrunkIsDilatedWhereItWouldHalveTheMap) {
  const auto sizes = [](const char* fixture) {
    const auto graph = graph_of(checkpoint_of(keys_of(fixture)), with("input-size", "96x160"));
    std::vector<int> heights;
    for (const auto& tap : graph->table.taps)
      if (tap->name.starts_with("feat/")) heights.push_back(graph->shape(tap->tensor)[1]);
    return heights;
  };
  EXPECT_EQ(sizes("fcn_resnet50"), (std::vector<int>{48, 24, 12, 12, 12}));
  EXPECT_EQ(sizes("lraspp_mobilenet_v3_large"), (std::vector<int>{48, 24, 12, 6}));
}

TEST(DeepLab, ImagesKeepTheirShapeAndTheClassesAreThoseOfPascalVoc) {
  Keys keys = keys_of("fcn_resnet50");
  EXPECT_TRUE(graph_of(checkpoint_of(keys))->table.labels.empty());  // of 5 classes
  keys["classifier.4.weight"][0] = keys["classifier.4.bias"][0] = 21;
  for (const char* size : {"520", "360x480"}) {
    const auto graph = graph_of(checkpoint_of(keys), with("input-size", size));
    ASSERT_EQ(graph->table.labels.size(), 21u);
    EXPECT_EQ(graph->table.labels[0], "__background__");
    EXPECT_EQ(graph->table.labels[15], "person");
    EXPECT_EQ(graph->table.labels[20], "tvmonitor");
    EXPECT_EQ(graph->table.postprocess->task, fbs::Task::SemanticSegmentation);
    const fbs::PreprocessT& preprocess = *graph->table.preprocess;
    EXPECT_EQ(preprocess.resize_mode, fbs::ResizeMode::ShortestEdge);
    EXPECT_EQ(preprocess.resize_h, size[0] == '5' ? 520 : 360);
    EXPECT_EQ(preprocess.crop_h, 0);
    EXPECT_EQ(preprocess.filter, fbs::Filter::Bilinear);
    EXPECT_EQ(preprocess.mean, (std::vector<float>{0.485f, 0.456f, 0.406f}));
    EXPECT_EQ(preprocess.std, (std::vector<float>{0.229f, 0.224f, 0.225f}));
  }
}

TEST(DeepLab, WithoutClassesItIsAnEmbedding) {
  const auto graph = graph_of(checkpoint_of(keys_of("deeplabv3_resnet50")), with("num-classes", "0"));
  EXPECT_EQ(output_of(*graph).name, "pooled");
  EXPECT_EQ(graph->shape(output_of(*graph).tensor), (Shape{1, 2048}));
  EXPECT_EQ(graph->table.postprocess->task, fbs::Task::Embedding);
}

TEST(DeepLab, MissingAndUnknownKeysAreNamed) {
  const auto fcn = checkpoint_of(keys_of("fcn_resnet50"));
  EXPECT_EQ(complaint([&] { identify(families(), *fcn, "deeplabv3_resnet50"); }),
            "model.safetensors: the keys are not those of a DeepLabV3 (torchvision): there is no "
            "'classifier.0.convs.0.0.weight', for example");
  const auto stripped = checkpoint_of(keys_of("fcn_resnet50"));
  stripped->remove("backbone.layer4.2.bn3.bias");
  const std::string missing = complaint([&] { identify(families(), stripped); });
  EXPECT_TRUE(missing.starts_with("model.safetensors has the keys of a FCN, but matches none")) << missing;
  const auto extended = checkpoint_of(keys_of("lraspp_mobilenet_v3_large"));
  extended->add("classifier.extra.weight", {1}, std::vector<float>{});
  const std::string extra = complaint([&] { identify(families(), extended); });
  EXPECT_NE(extra.find("classifier.extra.weight"), extra.npos) << extra;
}

}  // namespace
}  // namespace ferry
