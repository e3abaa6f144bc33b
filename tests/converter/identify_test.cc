#include "converter/identify.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "converter/checkpoint/safetensors.h"
#include "models/families.h"
#include "models/vision/resnet/resnet.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

std::shared_ptr<MemoryCheckpoint> with_keys(const std::vector<std::pair<std::string, std::vector<int64_t>>>& keys) {
  auto checkpoint = std::make_shared<MemoryCheckpoint>();
  for (const auto& [key, shape] : keys) checkpoint->add(key, shape, std::vector<float>{});  // shapes only
  return checkpoint;
}

// The keys and shapes of a ResNet of basic blocks, under timm's or transformers' names.
std::shared_ptr<MemoryCheckpoint> basic_resnet(std::vector<int> layers, bool transformers = false) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> keys;
  const auto conv_bn = [&](const std::string& conv, const std::string& bn, std::vector<int64_t> shape) {
    keys.push_back({conv + ".weight", shape});
    for (const char* leaf : {"weight", "bias", "running_mean", "running_var"})
      keys.push_back({bn + "." + leaf, {shape.front()}});
  };
  const auto named = [&](const char* timm, const char* hf) { return std::string(transformers ? hf : timm); };
  conv_bn(named("conv1", "resnet.embedder.embedder.convolution"),
          named("bn1", "resnet.embedder.embedder.normalization"), {64, 3, 7, 7});
  int64_t in = 64;
  for (int s = 0; s < 4; ++s) {
    const int64_t out = 64 << s;
    for (int b = 0; b < layers[static_cast<size_t>(s)]; ++b) {
      const std::string block = transformers
                                    ? "resnet.encoder.stages." + std::to_string(s) + ".layers." + std::to_string(b)
                                    : "layer" + std::to_string(s + 1) + "." + std::to_string(b);
      conv_bn(block + named(".conv1", ".layer.0.convolution"), block + named(".bn1", ".layer.0.normalization"),
              {out, in, 3, 3});
      conv_bn(block + named(".conv2", ".layer.1.convolution"), block + named(".bn2", ".layer.1.normalization"),
              {out, out, 3, 3});
      if (in != out)
        conv_bn(block + named(".downsample.0", ".shortcut.convolution"),
                block + named(".downsample.1", ".shortcut.normalization"), {out, in, 1, 1});
      in = out;
    }
  }
  keys.push_back({named("fc", "classifier.1") + ".weight", {1000, 512}});
  keys.push_back({named("fc", "classifier.1") + ".bias", {1000}});
  return with_keys(keys);
}

std::shared_ptr<MemoryCheckpoint> bottleneck_resnet(std::vector<int> layers) {
  std::vector<std::pair<std::string, std::vector<int64_t>>> keys;
  const auto conv_bn = [&](const std::string& conv, const std::string& bn, std::vector<int64_t> shape) {
    keys.push_back({conv + ".weight", shape});
    for (const char* leaf : {"weight", "bias", "running_mean", "running_var"})
      keys.push_back({bn + "." + leaf, {shape.front()}});
  };
  conv_bn("conv1", "bn1", {64, 3, 7, 7});
  int64_t in = 64;
  for (int s = 0; s < 4; ++s) {
    const int64_t planes = 64 << s, out = 4 * planes;
    for (int b = 0; b < layers[static_cast<size_t>(s)]; ++b, in = out) {
      const std::string block = "layer" + std::to_string(s + 1) + "." + std::to_string(b);
      conv_bn(block + ".conv1", block + ".bn1", {planes, in, 1, 1});
      conv_bn(block + ".conv2", block + ".bn2", {planes, planes, 3, 3});
      conv_bn(block + ".conv3", block + ".bn3", {out, planes, 1, 1});
      if (b == 0) conv_bn(block + ".downsample.0", block + ".downsample.1", {out, in, 1, 1});
    }
  }
  keys.push_back({"fc.weight", {1000, 2048}});
  keys.push_back({"fc.bias", {1000}});
  return with_keys(keys);
}

TEST(Identify, FindsTheVariantByAnyOfItsNames) {
  const auto checkpoint = basic_resnet({2, 2, 2, 2});
  for (const char* name : {"resnet18", "resnet18.a1_in1k", "timm/resnet18", "timm/resnet18.a1_in1k"})
    EXPECT_EQ(identify(families(), *checkpoint, name).variant->hub, "timm/resnet18.a1_in1k") << name;
  EXPECT_EQ(identify(families(), *checkpoint, "resnet18.a2_in1k").variant->hub, "timm/resnet18.a2_in1k");
  const Identified torchvision = identify(families(), *checkpoint, "torchvision/resnet18");
  EXPECT_EQ(torchvision.variant->hub, "torchvision/resnet18.v1");
  EXPECT_EQ(torchvision.naming->framework, "torchvision");
}

TEST(Identify, ABareArchitectureFollowsTheNamesOfTheCheckpoint) {
  const auto checkpoint = basic_resnet({2, 2, 2, 2}, true);
  const Identified found = identify(families(), *checkpoint, "resnet18");
  EXPECT_EQ(found.variant->hub, "microsoft/resnet-18");
  EXPECT_EQ(found.naming->framework, "transformers");
  // A named variant is kept, whatever naming the keys have.
  EXPECT_EQ(identify(families(), *checkpoint, "resnet18.a1_in1k").variant->framework, "timm");
  EXPECT_EQ(identify(families(), *checkpoint, "resnet18.a1_in1k").naming->framework, "transformers");
}

TEST(Identify, WithoutANameKeysAndShapesDecide) {
  EXPECT_EQ(identify(families(), basic_resnet({2, 2, 2, 2})).variant->name(), "resnet18.a1_in1k");
  EXPECT_EQ(identify(families(), basic_resnet({3, 4, 6, 3})).variant->name(), "resnet34.a1_in1k");
  EXPECT_EQ(identify(families(), basic_resnet({3, 4, 6, 3}, true)).variant->hub, "microsoft/resnet-34");
}

TEST(Identify, AnAssumedTrainingIsReported) {
  const std::string assumed = identify(families(), basic_resnet({2, 2, 2, 2})).assumed;
  EXPECT_TRUE(assumed.starts_with("assuming timm/resnet18.a1_in1k; timm/resnet18.")) << assumed;
  EXPECT_TRUE(
      assumed.ends_with(" more have the same tensors, but other preprocessing (size, crop or colours): choose with "
                        "--model NAME"))
      << assumed;
  EXPECT_EQ(identify(families(), *basic_resnet({2, 2, 2, 2}), "resnet18").assumed, assumed);
  EXPECT_EQ(identify(families(), *basic_resnet({2, 2, 2, 2}), "resnet18.a1_in1k").assumed, "");
}

TEST(Identify, TorchvisionsFileNamesAreRecognised) {
  const auto checkpoint = basic_resnet({2, 2, 2, 2});
  checkpoint->set_path("downloads/resnet18-f37072fd.pth");
  EXPECT_EQ(identify(families(), checkpoint).variant->hub, "torchvision/resnet18.v1");
  EXPECT_EQ(identify(families(), *checkpoint, "resnet18").variant->hub, "torchvision/resnet18.v1");
  for (const char* other : {"resnet18-f37072fd.safetensors", "resnet18-flowers0.pth", "my-resnet18-f37072fd.pth"}) {
    checkpoint->set_path(other);
    EXPECT_EQ(identify(families(), checkpoint).variant->hub, "timm/resnet18.a1_in1k") << other;
  }
}

// Digits in the file's name distinguish torchvision's two trainings; without them the first one is assumed.
TEST(Identify, FileDigitsIdentifyTheTraining) {
  const auto checkpoint = bottleneck_resnet({3, 4, 6, 3});
  for (const auto& [file, hub] : {std::pair("resnet50-11ad3fa6.pth", "torchvision/resnet50.v2"),
                                  {"resnet50-0676ba61.pth", "torchvision/resnet50.v1"}}) {
    checkpoint->set_path(file);
    EXPECT_EQ(identify(families(), checkpoint).variant->hub, hub);
    EXPECT_EQ(identify(families(), checkpoint).assumed, "") << file;
    EXPECT_EQ(identify(families(), *checkpoint, "resnet50").variant->hub, hub);
  }
  checkpoint->set_path("resnet50-00000000.pth");
  EXPECT_EQ(identify(families(), checkpoint).variant->hub, "torchvision/resnet50.v2");
  EXPECT_NE(identify(families(), checkpoint).assumed, "");
}

// Digits that do not match the file are reported.
TEST(Identify, FileDigitsAreCheckedAgainstTheHash) {
  const ScratchFolder folder;
  const auto written = [&](const std::string& name, const std::string& checkpoint) {
    std::filesystem::copy(checkpoint, folder.path() / name, std::filesystem::copy_options::overwrite_existing);
    return digest_mismatch(*open_checkpoint(folder.path() / name));
  };
  const std::string any = (folder.path() / "any.safetensors").string();
  const std::vector<float> values(4, 1.0f);
  write_safetensors(any, {{"a", {ElementType::F32, {4}, std::as_bytes(std::span(values))}}});
  const std::string digits = open_checkpoint(any)->sha256().substr(0, 8);
  EXPECT_EQ(written("resnet50-" + digits + ".pth", any), "");
  EXPECT_EQ(written("resnet50-11ad3fa6.pth", any),
            "resnet50-11ad3fa6.pth has digits of a SHA-256 in its name, but the file's are " + digits +
                ": the file is damaged, or has another file's name");
  for (const char* other :
       {"resnet50.pth", "-11ad3fa6.pth.safetensors", "my-flowers-0.pth", "resnet50-11ad3fa6.safetensors"})
    EXPECT_EQ(written(other, any), "") << other;
}

TEST(Identify, AnUnknownDepthIsNoKnownModel) {
  const std::string message = complaint([] { identify(families(), basic_resnet({2, 2, 2, 3})); });
  EXPECT_TRUE(message.starts_with("model.safetensors has the keys of a ResNet, but matches none that Ferry knows"))
      << message;
}

TEST(Identify, UnknownNamesAndForeignKeysAreRefused) {
  EXPECT_EQ(complaint([] {
              identify(families(), *basic_resnet({2, 2, 2, 2}), "resnet19");
            }),
            "no model has the name 'resnet19'; `ferry models` lists all");
  const auto foreign = with_keys({{"body.0.weight", {64, 3, 3, 3}}});
  EXPECT_EQ(complaint([&] { identify(families(), *foreign, "resnet18"); }),
            "model.safetensors: the keys are not those of a ResNet (timm, torchvision, transformers): there is no "
            "'layer1.0.conv1.weight', for example");
  const auto nothing = with_keys({{"something.else", {1}}});
  EXPECT_EQ(
      complaint([&] { identify(families(), nothing); }),
      "model.safetensors has the keys of no model that Ferry knows; `ferry models` lists all; any other network needs "
      "an ONNX file: torch.onnx.export(), then `ferry convert net.onnx`");
}

TEST(ResNetConfig, NamesTheArchitecture) {
  // Empty if not published.
  const auto architecture = [](const char* text) -> std::string {
    const Described found = resnet::described_by(nlohmann::json::parse(text));
    return found.published ? found.row->architecture : "";
  };
  EXPECT_EQ(architecture(R"({"model_type": "resnet"})"), "resnet50");  // transformers' defaults
  EXPECT_EQ(architecture(R"({"model_type": "resnet", "layer_type": "basic", "depths": [2, 2, 2, 2],
                             "hidden_sizes": [64, 128, 256, 512]})"),
            "resnet18");
  EXPECT_EQ(architecture(R"({"model_type": "resnet", "depths": [2, 2, 2, 2]})"), "resnet26");
  for (const char* other :
       {R"({"model_type": "resnet", "downsample_in_bottleneck": true})",
        R"({"model_type": "resnet", "embedding_size": 32})", R"({"model_type": "resnet", "depths": [1, 1, 1, 1]})",
        R"({"model_type": "resnet", "hidden_act": "gelu"})"})
    EXPECT_EQ(architecture(other), "") << other;
  EXPECT_EQ(resnet::described_by({{"model_type", "vit"}}).row, nullptr);
}

TEST(Variants, BearUniqueNamesAndAFrameworkThatTheFamilyCanRead) {
  std::set<std::string> names;
  for (const Family* family : families()) {
    for (const Variant* variant : family->variants()) {
      EXPECT_TRUE(names.insert(variant->framework + "/" + variant->name()).second) << variant->name();
      bool readable = false;
      for (const Naming& naming : family->namings()) readable = readable || naming.framework == variant->framework;
      EXPECT_TRUE(readable) << variant->name() << " of " << variant->framework;
    }
  }
}

TEST(Labels, AreTheThousandOfImageNet) {
  ASSERT_EQ(imagenet_labels().size(), 1000u);
  EXPECT_EQ(imagenet_labels().front(), "tench, Tinca tinca");
  EXPECT_EQ(imagenet_labels()[88], "macaw");
}

}  // namespace
}  // namespace ferry
