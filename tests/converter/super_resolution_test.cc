// Real-ESRGAN compact and the residual dense networks with generated weights: identification, preprocessing, receptive
// field. tests/parity compares their results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "converter/checkpoint/safetensors.h"
#include "converter/reference/interpreter.h"
#include "models/families.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

// Kernels with equal elements that sum to 1 per output, biases of 0, PReLU slopes of 1/2: an impulse stays positive
// wherever it reaches.
float even_weight(const std::string& name, const std::vector<int64_t>& shape, bool channels_last) {
  if (name.ends_with("bias")) return 0;
  if (shape.size() == 1) return 0.5f;
  int64_t count = 1;
  for (int64_t d : shape) count *= d;
  return static_cast<float>(channels_last ? shape[3] : shape[0]) / static_cast<float>(count);
}

fs::path write_compact(const fs::path& folder, int convolutions, int upscale) {
  std::map<std::string, CheckpointTensor> tensors;
  std::map<std::string, std::vector<float>> values;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (int64_t d : shape) count *= d;
    auto& data = values[name] = std::vector<float>(static_cast<size_t>(count), even_weight(name, shape, false));
    tensors[name] = {ElementType::F32, shape, std::as_bytes(std::span(data))};
  };
  for (int i = 0; i <= convolutions + 1; ++i) {
    const std::string name = "body." + std::to_string(2 * i);
    const int64_t out = i <= convolutions ? 64 : 3 * upscale * upscale;
    add(name + ".weight", {out, i == 0 ? 3 : 64, 3, 3});
    add(name + ".bias", {out});
    if (i <= convolutions) add("body." + std::to_string(2 * i + 1) + ".weight", {64});
  }
  write_safetensors(folder / "net.safetensors", tensors);
  return folder / "net.safetensors";
}

struct Layer {
  std::string name;
  int kernel, in, out;
};

fs::path write_layers(const ScratchFolder& folder, const std::vector<Layer>& layers) {
  std::string manifest, data;
  for (const Layer& l : layers) {
    const std::vector<int64_t> shape = {l.kernel, l.kernel, l.in, l.out};
    const float value = even_weight("kernel", shape, true);
    for (int i = 0; i < l.kernel * l.kernel * l.in * l.out; ++i)
      data.append(reinterpret_cast<const char*>(&value), sizeof value);
    data.append(static_cast<size_t>(l.out) * 4, '\0');
    const std::string kernel = std::to_string(l.kernel), out = std::to_string(l.out);
    manifest += std::string(manifest.empty() ? "" : ",") + R"({"name":")" + l.name + R"(/kernel","dtype":"float32",)" +
                R"("shape":[)" + kernel + "," + kernel + "," + std::to_string(l.in) + "," + out + R"(]},{"name":")" +
                l.name + R"(/bias","dtype":"float32","shape":[)" + out + "]}";
  }
  folder.write("w.bin", data);
  return folder.write("model.json", R"({"format":"layers-model","weightsManifest":[{"paths":["w.bin"],"weights":[)" +
                                        manifest + "]}]}");
}

fs::path write_dense(const ScratchFolder& folder, int scale) {
  const int cell = 3 * scale * scale;
  return write_layers(folder, {{"F_m1", 3, 3, 64},
                               {"F_0", 3, 64, 64},
                               {"F_1_1", 3, 64, 4},
                               {"LFF_1", 1, 68, 64},
                               {"F_2_1", 3, 64, 4},
                               {"LFF_2", 1, 68, 64},
                               {"GFF_1", 1, 128, 64},
                               {"GFF_2", 3, 64, 64},
                               {"UPN1", 5, 64, 64},
                               {"UPN2", 3, 64, 32},
                               {"UPN3", 3, 32, cell},
                               {"SR", 3, cell, 3}});
}

fs::path write_residual_in_residual(const ScratchFolder& folder, int scale) {
  std::vector<Layer> layers = {{"Pre_blocks_conv", 3, 3, 64}};
  for (int t = 1; t <= 10; ++t)
    for (int d = 1; d <= 3; ++d) {
      const std::string place = std::to_string(t) + "_" + std::to_string(d);
      for (int c = 1; c <= 4; ++c) layers.push_back({"F_" + place + "_" + std::to_string(c), 3, 32 + 32 * c, 32});
      layers.push_back({"LFF_" + place, 3, 192, 64});
    }
  layers.push_back({"post_blocks_conv", 3, 64, 64});
  layers.push_back({"PreShuffle", 3, 64, 3 * scale * scale});
  layers.push_back({"SR", 3, 3, 3});
  return write_layers(folder, layers);
}

std::unique_ptr<Graph> convert_file(const fs::path& checkpoint, const std::string& model = "") {
  ConvertOptions options;
  options.checkpoint = checkpoint;
  if (!model.empty()) options.settings.set("model", model);
  return convert_to_graph(options);
}

std::string upscaler_refusal(ConvertOptions options) {
  try {
    convert_to_graph(options);
    return "converted";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(SuperResolution, TheFileIdentifiesTheVariant) {
  const ScratchFolder folder;
  for (const auto& [convolutions, upscale, variant] : {std::tuple{16, 4, "realesr_animevideov3"},
                                                       {16, 3, "realesr_animevideov3_x3"},
                                                       {16, 2, "realesr_animevideov3_x2"},
                                                       {32, 4, "realesr_general_x4v3"}}) {
    const auto graph = convert_file(write_compact(folder.path(), convolutions, upscale));
    EXPECT_EQ(graph->table.provenance->variant, variant);
    EXPECT_EQ(graph->table.postprocess->upscale, upscale);
  }
  for (int scale : {2, 3, 4, 8}) {
    const auto graph = convert_file(write_dense(folder, scale));
    EXPECT_EQ(graph->table.provenance->variant, "esrgan_slim_x" + std::to_string(scale));
    EXPECT_EQ(graph->table.provenance->framework, "keras");
    EXPECT_EQ(graph->table.postprocess->upscale, scale);
  }
}

TEST(SuperResolution, RrdbNetIsItsOwnNetwork) {
  const ScratchFolder folder;
  for (int scale : {2, 8}) {
    const auto graph = convert_file(write_residual_in_residual(folder, scale));
    EXPECT_EQ(graph->table.provenance->variant, "esrgan_thick_x" + std::to_string(scale));
    EXPECT_EQ(graph->table.postprocess->upscale, scale);
    EXPECT_TRUE(graph->table.preprocess->std.empty() && graph->table.postprocess->std.empty()) << "0..1 both ways";
    EXPECT_EQ(graph->table.inputs[0]->name, "LR_input");
  }
}

TEST(SuperResolution, RefusesMismatches) {
  const ScratchFolder folder;
  ConvertOptions options;
  options.checkpoint = write_compact(folder.path(), 16, 3);
  options.settings.set("model", "realesr_animevideov3");
  EXPECT_EQ(
      upscaler_refusal(options),
      "net.safetensors as realesr_animevideov3: 'body.34.weight' has shape [27,64,3,3], but module 'body.34' needs "
      "[48,64,3,3]");
  options.settings.set("model", "realesr_general_x4v3.wdn");
  EXPECT_EQ(upscaler_refusal(options),
            "net.safetensors as realesr_general_x4v3.wdn: 'body.34.weight' has shape [27,64,3,3], but module 'body.34' "
            "needs [64,64,3,3]");
  options.settings.set("model", "realesr_animevideov3_x3");
  options.settings.set("in-chans", 1);
  EXPECT_EQ(upscaler_refusal(options),
            "net.safetensors as realesr_animevideov3_x3: realesr_animevideov3_x3 takes images of 3 channels, not 1");
  options.settings.erase("in-chans");
  options.settings.set("num-classes", 10);
  EXPECT_EQ(upscaler_refusal(options),
            "net.safetensors as realesr_animevideov3_x3: realesr_animevideov3_x3 has no classes, so --num-classes does "
            "not apply");
  options.settings.erase("num-classes");
  EXPECT_EQ(upscaler_refusal(options), "converted");
}

TEST(SuperResolution, PreprocessingHasTheLevelsOfTraining) {
  const ScratchFolder folder;
  const auto compact = convert_file(write_compact(folder.path(), 16, 4));
  EXPECT_EQ(compact->table.preprocess->resize_mode, fbs::ResizeMode::None);
  EXPECT_EQ(compact->table.postprocess->task, fbs::Task::ImageToImage);
  EXPECT_TRUE(compact->table.preprocess->std.empty() && compact->table.postprocess->std.empty()) << "0..1 both ways";
  EXPECT_EQ(compact->table.inputs[0]->name, "input");
  EXPECT_EQ(compact->table.inputs[0]->source_layout, fbs::Layout::NCHW);

  const auto dense = convert_file(write_dense(folder, 2));
  EXPECT_EQ(dense->table.preprocess->std, std::vector<float>(3, 1 / 255.0f)) << "0..255 both ways";
  EXPECT_EQ(dense->table.postprocess->std, std::vector<float>(3, 1 / 255.0f));
  EXPECT_EQ(dense->table.inputs[0]->name, "LR");
  EXPECT_EQ(dense->table.inputs[0]->source_layout, fbs::Layout::Same);
  for (const auto& tap : dense->table.taps) EXPECT_EQ(tap->source_layout, fbs::Layout::Same) << tap->name;
  const auto& ops = dense->table.operators;
  EXPECT_TRUE(std::none_of(ops.begin(), ops.end(), [](const auto& op) { return op->params.AsResize2d() != nullptr; }))
      << "the last convolution works at the input's size";
}

// The maximum distance, in input pixels, at which an input pixel changes an output. This is a property of the network,
// so the oracle computes it. (A backend's rounding may reach farther: pixels of a Winograd tile share rounding errors.)
int reach(const fs::path& checkpoint, int upscale) {
  constexpr int kSide = 81, kMiddle = 40;
  ConvertOptions options;
  options.checkpoint = checkpoint;
  // Three rows suffice, because the columns show the reach.
  options.settings.set("input-size", "3x" + std::to_string(kSide));
  const auto graph = convert_to_graph(options);
  reference::Array input{{1, 3, kSide, 3}, std::vector<double>(3 * kSide * 3, 0.0)};
  std::fill_n(input.values.begin() + (kSide + kMiddle) * 3, 3, 1e6);
  const auto values = reference::interpret(*graph, {input});
  const auto& result = values.at(graph->table.outputs[0]->tensor).values;
  int farthest = -1;
  for (size_t i = 0; i < result.size(); ++i) {
    const int column = static_cast<int>(i / 3) % (kSide * upscale) / upscale;
    if (result[i] != 0) farthest = std::max(farthest, std::abs(column - kMiddle));
  }
  return farthest;
}

TEST(SuperResolution, HaloEqualsTheReceptiveField) {
  const ScratchFolder folder;
  const fs::path compact = write_compact(folder.path(), 16, 2);
  EXPECT_EQ(convert_file(compact)->table.postprocess->halo, 18);
  EXPECT_EQ(reach(compact, 2), 18);
  const fs::path deep = write_compact(folder.path(), 32, 4);
  EXPECT_EQ(convert_file(deep)->table.postprocess->halo, 34);
  EXPECT_EQ(reach(deep, 4), 34);
  for (int scale : {2, 3, 8}) {
    const fs::path dense = write_dense(folder, scale);
    EXPECT_EQ(convert_file(dense)->table.postprocess->halo, 10);
    EXPECT_EQ(reach(dense, scale), 10);
  }
}

}  // namespace
}  // namespace ferry
