// RRDBNet (ESRGAN, Real-ESRGAN) and MI-GAN with generated weights: identification by keys, preprocessing, refusals.
// tests/parity compares their results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "converter/checkpoint/safetensors.h"
#include "converter/reference/interpreter.h"
#include "models/families.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Graph> convert_tensors(const MemoryCheckpoint& checkpoint, ConvertOptions options = {}) {
  const ScratchFolder folder;
  options.checkpoint = folder.path() / "net.safetensors";
  write_safetensors(options.checkpoint, checkpoint.tensors());
  return convert_to_graph(options);
}

std::string restoration_refusal(const MemoryCheckpoint& checkpoint, ConvertOptions options = {}) {
  return complaint([&] { convert_tensors(checkpoint, options); });
}

ConvertOptions as(const std::string& model) {
  ConvertOptions options;
  options.settings.set("model", model);
  return options;
}

std::vector<double> output_of(const Graph& graph, int height, int width) {
  const int channels = graph.shape(graph.table.inputs[0]->tensor)[3];
  reference::Array input{{1, height, width, channels}, {}};
  for (int i = 0; i < height * width * channels; ++i) input.values.push_back(std::sin(0.7 * i * i));
  return reference::interpret(graph, {input}).at(graph.table.outputs[0]->tensor).values;
}

// ---- RRDBNet --------------------------------------------------------------------------------------------------------

enum class Names { BasicSr, Esrgan, FirstRelease };

struct RestorationSizes {
  int blocks = 2, features = 8, growth = 4, doublings = 2, channels = 3;
};

// The same values under all names.
MemoryCheckpoint rrdbnet(const RestorationSizes& sizes, Names names = Names::BasicSr) {
  MemoryCheckpoint checkpoint;
  int count = 0;
  const auto add = [&](const std::string& name, int out, int in) {
    const size_t elements = static_cast<size_t>(out * in * 9);
    std::vector<float> weight(elements), bias(static_cast<size_t>(out));
    ++count;
    for (size_t i = 0; i < elements; ++i)
      weight[i] = static_cast<float>(std::sin(count + 1.7 * static_cast<double>(i)) / std::sqrt(4.5 * in));
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(std::cos(count + i));
    checkpoint.add(name + ".weight", {out, in, 3, 3}, std::move(weight));
    checkpoint.add(name + ".bias", {out}, std::move(bias));
  };
  const auto name = [&](const char* basicsr, const char* first_release, int place) {
    if (names == Names::Esrgan) return "model." + std::to_string(place);
    return std::string(names == Names::BasicSr ? basicsr : first_release);
  };
  const int f = sizes.features, g = sizes.growth;
  add(name("conv_first", "conv_first", 0), f, sizes.channels);
  const std::string blocks = names == Names::BasicSr  ? "body."
                             : names == Names::Esrgan ? "model.1.sub."
                                                      : "RRDB_trunk.";
  for (int n = 0; n < sizes.blocks; ++n)
    for (int k = 1; k <= 3; ++k)
      for (int i = 1; i <= 5; ++i)
        add(blocks + std::to_string(n) + (names == Names::BasicSr ? ".rdb" : ".RDB") + std::to_string(k) + ".conv" +
                std::to_string(i) + (names == Names::Esrgan ? ".0" : ""),
            i < 5 ? g : f, f + (i - 1) * g);
  add(names == Names::Esrgan ? blocks + std::to_string(sizes.blocks) : name("conv_body", "trunk_conv", 0), f, f);
  for (int i = 1; i <= sizes.doublings; ++i) {
    const std::string number = std::to_string(i);
    add(name(("conv_up" + number).c_str(), ("upconv" + number).c_str(), 3 * i), f, f);
  }
  const int last = 3 * sizes.doublings;
  add(name("conv_hr", "HRconv", last + 2), f, f);
  add(name("conv_last", "conv_last", last + 4), 3, f);
  return checkpoint;
}

TEST(RrdbNet, TheFileIdentifiesTheNetwork) {
  struct Case {
    RestorationSizes sizes;
    Names names;
    const char* variant;
    int upscale, multiple_of;
  };
  const Case cases[] = {
      {{6, 64, 32, 2, 3}, Names::BasicSr, "realesrgan_x4plus_anime_6b", 4, 1},
      {{6, 64, 32, 2, 3}, Names::Esrgan, "rrdbnet", 4, 1},
      {{23, 64, 32, 2, 12}, Names::BasicSr, "realesrgan_x2plus", 2, 2},
      {{23, 64, 32, 2, 3}, Names::FirstRelease, "esrgan_x4", 4, 1},
      {{1, 8, 4, 2, 48}, Names::BasicSr, "rrdbnet", 1, 4},
      {{1, 8, 4, 3, 3}, Names::BasicSr, "rrdbnet", 8, 1},
      {{1, 8, 4, 1, 3}, Names::FirstRelease, "rrdbnet", 2, 1},
      {{1, 8, 4, 0, 3}, Names::Esrgan, "rrdbnet", 1, 1},
      {{3, 6, 5, 2, 12}, Names::Esrgan, "rrdbnet", 2, 2},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.variant);
    const auto graph = convert_tensors(rrdbnet(c.sizes, c.names));
    EXPECT_EQ(graph->table.provenance->variant, c.variant);
    EXPECT_EQ(graph->table.provenance->framework, c.names == Names::BasicSr ? "basicsr" : "esrgan");
    const fbs::PostprocessT& post = *graph->table.postprocess;
    EXPECT_EQ(post.task, fbs::Task::ImageToImage);
    EXPECT_EQ(post.upscale, c.upscale);
    EXPECT_EQ(post.multiple_of, c.multiple_of);
    EXPECT_TRUE(post.std.empty() && graph->table.preprocess->std.empty()) << "0..1 both ways";
    EXPECT_EQ(graph->shape(graph->table.inputs[0]->tensor), (Shape{1, 128, 128, 3}));
    EXPECT_EQ(graph->shape(graph->table.outputs[0]->tensor), (Shape{1, 128 * c.upscale, 128 * c.upscale, 3}));
  }
}

TEST(RrdbNet, IsTheSameUnderEveryName) {
  for (int doublings : {0, 1, 2, 3})
    for (int channels : {3, 12}) {
      if (doublings == 0 && channels == 12) continue;
      SCOPED_TRACE(::testing::Message() << doublings << " doublings, " << channels << " channels");
      const RestorationSizes sizes{2, 6, 3, doublings, channels};
      ConvertOptions options;
      options.settings.set("input-size", "4x6");
      const std::vector<double> expected = output_of(*convert_tensors(rrdbnet(sizes), options), 4, 6);
      ASSERT_FALSE(expected.empty());
      EXPECT_EQ(output_of(*convert_tensors(rrdbnet(sizes, Names::Esrgan), options), 4, 6), expected);
      EXPECT_EQ(output_of(*convert_tensors(rrdbnet(sizes, Names::FirstRelease), options), 4, 6), expected);
    }
}

TEST(RrdbNet, ATensorThatIsMissingIsNamed) {
  for (const Names names : {Names::BasicSr, Names::Esrgan, Names::FirstRelease}) {
    const MemoryCheckpoint whole = rrdbnet({2, 6, 3, 2, 3}, names);
    for (const auto& [key, tensor] : whole.tensors()) {
      MemoryCheckpoint part = rrdbnet({2, 6, 3, 2, 3}, names);
      part.remove(key);
      const std::string said = restoration_refusal(part, as("rrdbnet"));
      // Keys that identify a file.
      static const std::set<std::string> kProbes = {"conv_first.weight", "model.0.weight", "body.0.rdb1.conv1.weight",
                                                    "model.1.sub.0.RDB1.conv1.0.weight",
                                                    "RRDB_trunk.0.RDB1.conv1.weight"};
      const bool probe = kProbes.contains(key);
      EXPECT_NE(said.find(probe ? "the keys are not those of" : "'" + key + "'"), std::string::npos)
          << key << ": " << said;
    }
  }
}

TEST(RrdbNet, RefusesMismatches) {
  const RestorationSizes small{2, 6, 3, 2, 3};
  EXPECT_EQ(restoration_refusal(rrdbnet(small), as("realesrgan_x4plus")),
            "net.safetensors as realesrgan_x4plus: the checkpoint has 2 blocks, 6 features, growth of 3, 2 doublings "
            "after cells of 1x1 pixels, realesrgan_x4plus has 23 blocks, 64 features, growth of 32, 2 doublings after "
            "cells of 1x1 pixels: --model rrdbnet takes any sizes");
  EXPECT_EQ(
      restoration_refusal(rrdbnet({2, 6, 3, 2, 5}), as("rrdbnet")),
      "net.safetensors as rrdbnet: 'conv_first.weight' takes 5 channels, expected those of 1, 4 or 16 pixels of 3 "
      "channels each");
  EXPECT_EQ(
      restoration_refusal(rrdbnet({2, 6, 3, 1, 48}), as("rrdbnet")),
      "net.safetensors as rrdbnet: a network of 2 blocks, 6 features, growth of 3, 1 doublings after cells of 4x4 "
      "pixels outputs a smaller image: expected the same size or upscaling");
  MemoryCheckpoint wrong = rrdbnet(small);
  wrong.add("body.1.rdb2.conv3.weight", {3, 6, 3, 3});
  EXPECT_EQ(restoration_refusal(wrong, as("rrdbnet")),
            "net.safetensors as rrdbnet: 'body.1.rdb2.conv3.weight' has shape [3,6,3,3], but module "
            "'body.1.rdb2.conv3' needs [3,12,3,3]");
  wrong = rrdbnet(small);
  wrong.add("conv_first.weight", {6});
  EXPECT_EQ(restoration_refusal(wrong, as("rrdbnet")),
            "net.safetensors as rrdbnet: 'conv_first.weight' has 1 dimensions, expected 4");
  wrong = rrdbnet(small, Names::Esrgan);
  wrong.add("model.1.sub.0.RDB1.conv1x1.weight", {3, 6, 1, 1});
  EXPECT_EQ(restoration_refusal(wrong, as("rrdbnet")),
            "net.safetensors as rrdbnet: the network does not use 1 key of the checkpoint: "
            "'model.1.sub.0.RDB1.conv1x1.weight' [3,6,1,1] (--ignore-keys REGEX leaves out keys that "
            "do not matter)");
  ConvertOptions odd;
  odd.settings.set("input-size", "4x7");
  EXPECT_EQ(restoration_refusal(rrdbnet({2, 6, 3, 2, 12}), odd),
            "net.safetensors as rrdbnet: rrdbnet takes images whose sides are multiples of 2, not 4x7");
}

TEST(RrdbNet, TheHaloIsWholeCells) {
  for (const auto& [channels, halo] : {std::pair{3, 16}, {12, 32}, {48, 64}})
    EXPECT_EQ(convert_tensors(rrdbnet({1, 3, 2, 2, channels}))->table.postprocess->halo, halo);
}

// ---- MI-GAN ---------------------------------------------------------------------------------------------------------

MemoryCheckpoint migan(int side) {
  MemoryCheckpoint checkpoint;
  const auto width = [&](int s) { return s == side ? 4 : 6; };
  const auto filters = [&](const std::string& name, int count, float gain) {
    std::vector<float> values;
    for (int c = 0; c < count; ++c)
      for (const float a : {1.0f, 3.0f, 3.0f, 1.0f})
        for (const float b : {1.0f, 3.0f, 3.0f, 1.0f}) values.push_back(a * b * gain);
    checkpoint.add(name, {count, 1, 4, 4}, std::move(values));
  };
  const auto separable = [&](const std::string& name, int in, int out, int noise) {
    checkpoint.add(name + ".conv1.weight", {in, 1, 3, 3});
    checkpoint.add(name + ".conv1.bias", {in});
    checkpoint.add(name + ".conv2.weight", {out, in, 1, 1});
    if (noise == 0) return;
    checkpoint.add(name + ".noise_strength", {}, std::vector<float>{0.1f});
    checkpoint.add(name + ".noise_const", {noise, noise});
  };
  const auto upscaling = [&](const std::string& name, int count, int s) {
    std::vector<float> grid;
    for (int i = 0; i < s * s; ++i) grid.push_back(i / s % 2 == 0 && i % s % 2 == 0 ? 1.0f : 0.0f);
    checkpoint.add(name + ".filter_const", {1, 1, s, s}, std::move(grid));
    filters(name + ".filter.weight", count, 1.0f / 16);
  };
  for (int s = side; s >= 4; s /= 2) {
    const std::string block = "b" + std::to_string(s), encoder = "encoder." + block, synthesis = "synthesis." + block;
    if (s == side) {
      checkpoint.add(encoder + ".fromrgb.weight", {width(s), 4, 1, 1});
      checkpoint.add(encoder + ".fromrgb.bias", {width(s)});
    }
    const bool down = s > 4;
    separable(encoder + ".conv1", width(s), width(s), 0);
    separable(encoder + ".conv2", width(s), down ? width(s / 2) : width(s), 0);
    if (down) filters(encoder + ".conv2.downsample.filter.weight", width(s), 1.0f / 64);
    separable(synthesis + ".conv1", down ? width(s / 2) : width(s), width(s), down ? s : 0);
    separable(synthesis + ".conv2", width(s), width(s), down ? s : 0);
    checkpoint.add(synthesis + ".torgb.weight", {3, width(s), 1, 1});
    checkpoint.add(synthesis + ".torgb.bias", {3});
    if (!down) continue;
    upscaling(synthesis + ".conv1.upsample", width(s), s);
    upscaling(synthesis + ".upsample", 3, s);
  }
  return checkpoint;
}

TEST(MiGan, TheFileIdentifiesTheNetwork) {
  for (const auto& [side, variant] : {std::pair{8, "migan"}, {32, "migan"}, {256, "migan_256"}, {512, "migan_512"}}) {
    const auto graph = convert_tensors(migan(side));
    EXPECT_EQ(graph->table.provenance->variant, variant);
    EXPECT_EQ(graph->shape(graph->table.inputs[0]->tensor), (Shape{1, side, side, 4}));
    EXPECT_EQ(graph->shape(graph->table.outputs[0]->tensor), (Shape{1, side, side, 3}));
    const fbs::PreprocessT& before = *graph->table.preprocess;
    EXPECT_EQ(before.resize_mode, fbs::ResizeMode::Exact);
    EXPECT_EQ(before.resize_h, side);
    EXPECT_EQ(before.resize_w, side);
    EXPECT_EQ(before.mean, std::vector<float>(3, 0.5f));
    EXPECT_EQ(before.std, std::vector<float>(3, 0.5f));
    const fbs::PostprocessT& after = *graph->table.postprocess;
    EXPECT_EQ(after.task, fbs::Task::Inpainting);
    ASSERT_NE(after.params.AsInpainting(), nullptr);
    EXPECT_EQ(after.params.AsInpainting()->known, 0.5f);
    EXPECT_EQ(after.params.AsInpainting()->hole, -0.5f);
    EXPECT_EQ(after.mean, before.mean);
    EXPECT_EQ(after.std, before.std);
    const auto& ops = graph->table.operators;
    EXPECT_TRUE(std::none_of(ops.begin(), ops.end(), [](const auto& op) { return op->params.AsConvTranspose2d(); }))
        << "the authors' filter needs none";
  }
}

TEST(MiGan, ATensorThatIsMissingIsNamed) {
  const MemoryCheckpoint whole = migan(8);
  for (const auto& [key, tensor] : whole.tensors()) {
    MemoryCheckpoint part = migan(8);
    part.remove(key);
    const std::string said = restoration_refusal(part, as("migan"));
    const bool probe = key == "encoder.b4.conv1.conv1.weight" || key == "synthesis.b4.torgb.weight";
    EXPECT_NE(said.find(probe ? "the keys are not those of" : "'" + key + "'"), std::string::npos)
        << key << ": " << said;
  }
}

TEST(MiGan, RefusesMismatches) {
  EXPECT_EQ(restoration_refusal(migan(16), as("migan_256")),
            "net.safetensors as migan_256: the checkpoint is for images of 16x16, migan_256 is for "
            "256x256: --model migan takes any");
  ConvertOptions options;
  options.settings.set("input-size", "32x32");
  EXPECT_EQ(restoration_refusal(migan(16), options),
            "net.safetensors as migan: the checkpoint supports images of 16x16 only, not 32x32");
  options.settings = {};
  options.settings.set("in-chans", 3);
  EXPECT_EQ(restoration_refusal(migan(16), options),
            "net.safetensors as migan: migan takes 4 channels (mask and RGB), not 3");
  MemoryCheckpoint wrong = migan(8);
  wrong.add("synthesis.b8.conv1.noise_strength", {2});
  EXPECT_EQ(restoration_refusal(wrong, as("migan")),
            "net.safetensors as migan: 'synthesis.b8.conv1.noise_strength' has shape [2], expected a scalar");
  wrong = migan(8);
  wrong.add("synthesis.b8.upsample.filter_const", {1, 1, 8, 8}, std::vector<float>(64, 1.0f));
  EXPECT_EQ(restoration_refusal(wrong, as("migan")),
            "net.safetensors as migan: 'synthesis.b8.upsample.filter_const' is 1 at row 0, column 1: expected 1 where "
            "both are even, else 0");
  wrong = migan(8);
  wrong.add("encoder.b4.conv1.conv2.weight", {5, 6, 1, 1});
  EXPECT_EQ(restoration_refusal(wrong, as("migan")),
            "net.safetensors as migan: 'encoder.b4.conv1.conv2.weight' has shape [5,6,1,1], but module "
            "'encoder.b4.conv1.conv2' needs [6,6,1,1]");
}

// A filter that is not equivalent to a smaller one on repeated pixels is computed directly. Both ways give the same
// result for a filter that differs by just more than the rounding tolerance.
TEST(MiGan, BothUpscalingFormsGiveTheSame) {
  const std::string key = "synthesis.b8.conv1.upsample.filter.weight";
  MemoryCheckpoint other = migan(8);
  std::vector<float> values;
  for (int c = 0; c < 4; ++c)
    for (const float a : {1.0f, 3.0f, 3.0f, 1.0f})
      for (const float b : {1.0f, 3.0f, 3.0f, 1.0f}) values.push_back(a * b / 16);
  values[15] += 2e-6f;
  other.add(key, {4, 1, 4, 4}, std::move(values));
  const auto repeated = convert_tensors(migan(8)), as_it_stands = convert_tensors(other);
  const auto& ops = as_it_stands->table.operators;
  EXPECT_EQ(std::count_if(ops.begin(), ops.end(), [](const auto& op) { return op->params.AsConvTranspose2d(); }), 1);
  const std::vector<double> a = output_of(*repeated, 8, 8), b = output_of(*as_it_stands, 8, 8);
  ASSERT_EQ(a.size(), b.size());
  double largest = 0, difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(a[i]));
    difference = std::max(difference, std::fabs(a[i] - b[i]));
  }
  EXPECT_LT(difference, 1e-4 * largest);
}

}  // namespace
}  // namespace ferry
