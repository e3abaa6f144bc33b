// BiRefNet with generated weights: identification, sizes, preprocessing, refusals. tests/parity compares its results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "converter/checkpoint/safetensors.h"
#include "converter/identify.h"
#include "models/families.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

using Keys = std::map<std::string, std::vector<int64_t>>;

struct BirefnetSizes {
  int64_t width = 8;
  std::vector<int64_t> depths = {1, 2, 1, 1}, heads = {1, 2, 2, 4};
  int64_t window = 3;
  bool attention = true;  // to gradients
};

// The keys and shapes of a BiRefNet as the authors save it.
Keys birefnet(const BirefnetSizes& sizes) {
  Keys keys;
  const auto conv = [&](const std::string& name, int64_t out, int64_t in, int64_t kernel, bool bias = true) {
    keys[name + ".weight"] = {out, in, kernel, kernel};
    if (bias) keys[name + ".bias"] = {out};
  };
  const auto norm = [&](const std::string& name, int64_t width) {
    keys[name + ".weight"] = keys[name + ".bias"] = {width};
  };
  const auto linear = [&](const std::string& name, int64_t out, int64_t in, bool bias = true) {
    keys[name + ".weight"] = {out, in};
    if (bias) keys[name + ".bias"] = {out};
  };
  const auto batch_norm = [&](const std::string& name, int64_t width) {
    norm(name, width);
    keys[name + ".running_mean"] = keys[name + ".running_var"] = {width};
    keys[name + ".num_batches_tracked"] = {};
  };
  conv("bb.patch_embed.proj", sizes.width, 3, 4);
  norm("bb.patch_embed.norm", sizes.width);
  for (size_t s = 0; s < 4; ++s) {
    const int64_t width = sizes.width << s, places = sizes.window * sizes.window;
    const std::string stage = "bb.layers." + std::to_string(s);
    for (int64_t b = 0; b < sizes.depths[s]; ++b) {
      const std::string block = stage + ".blocks." + std::to_string(b);
      for (const char* name : {".norm1", ".norm2"}) norm(block + name, width);
      keys[block + ".attn.relative_position_bias_table"] = {(2 * sizes.window - 1) * (2 * sizes.window - 1),
                                                            sizes.heads[s]};
      keys[block + ".attn.relative_position_index"] = {places, places};
      linear(block + ".attn.qkv", 3 * width, width);
      linear(block + ".attn.proj", width, width);
      linear(block + ".mlp.fc1", 4 * width, width);
      linear(block + ".mlp.fc2", width, 4 * width);
    }
    norm("bb.norm" + std::to_string(s), width);
    if (s == 3) break;
    linear(stage + ".downsample.reduction", 2 * width, 4 * width, false);
    norm(stage + ".downsample.norm", 4 * width);
  }
  const auto block = [&](const std::string& name, int64_t out, int64_t in) {
    constexpr int64_t kInner = 6, kBranch = 4;
    conv(name + ".conv_in", kInner, in, 3);
    batch_norm(name + ".bn_in", kInner);
    const std::string pyramid = name + ".dec_att";
    for (const auto& [branch, kernel] :
         {std::pair{".aspp1", 1}, {".aspp_deforms.0", 1}, {".aspp_deforms.1", 3}, {".aspp_deforms.2", 7}}) {
      const std::string deformable = pyramid + branch + ".atrous_conv";
      conv(deformable + ".offset_conv", 2 * kernel * kernel, kInner, kernel);
      conv(deformable + ".modulator_conv", kernel * kernel, kInner, kernel);
      conv(deformable + ".regular_conv", kBranch, kInner, kernel, false);
      batch_norm(pyramid + branch + ".bn", kBranch);
    }
    conv(pyramid + ".global_avg_pool.1", kBranch, kInner, 1, false);
    batch_norm(pyramid + ".global_avg_pool.2", kBranch);
    conv(pyramid + ".conv1", kInner, 5 * kBranch, 1, false);
    batch_norm(pyramid + ".bn1", kInner);
    conv(name + ".conv_out", out, kInner, 3);
    batch_norm(name + ".bn_out", out);
  };
  const auto width = [&](int level) { return 2 * sizes.width << level; };  // of the encoder's feature maps
  block("squeeze_module.0", width(3), width(0) + width(1) + width(2) + width(3));
  for (int level = 3; level >= 0; --level) {
    const std::string number = std::to_string(level + 1), decoder = "decoder.";
    const std::string image = decoder + "ipt_blk" + std::to_string(level + 2);
    const int64_t beside = width(std::min(level + 1, 3)) / 8, out = level > 0 ? width(level - 1) : width(0) / 2;
    conv(image + ".conv1", 5, int64_t{3} << (2 * (level + 2)), 3);
    conv(image + ".conv_out", beside, 5, 3);
    block(decoder + "decoder_block" + number, out, width(level) + beside);
    if (level == 0) break;
    conv(decoder + "lateral_block" + number + ".conv", out, out, 1);
    conv(decoder + "conv_ms_spvn_" + number, 1, out, 1);
    if (!sizes.attention) continue;
    conv(decoder + "gdt_convs_" + number + ".0", 7, out, 3);
    batch_norm(decoder + "gdt_convs_" + number + ".1", 7);
    for (const char* convs : {"gdt_convs_pred_", "gdt_convs_attn_"}) conv(decoder + convs + number + ".0", 1, 7, 1);
  }
  conv("decoder.ipt_blk1.conv1", 5, 3, 3);
  conv("decoder.ipt_blk1.conv_out", width(0) / 8, 5, 3);
  conv("decoder.conv_out1.0", 1, width(0) / 2 + width(0) / 8, 1);
  return keys;
}

std::unique_ptr<Graph> convert_keys(const Keys& keys, const std::string& size, ConvertOptions options = {}) {
  MemoryCheckpoint checkpoint;
  for (const auto& [key, shape] : keys) {
    if (key.ends_with("running_var"))
      checkpoint.add(key, shape, std::vector<float>(static_cast<size_t>(shape[0]), 1.0f));
    else
      checkpoint.add(key, shape);
  }
  const ScratchFolder folder;
  options.checkpoint = folder.path() / "net.safetensors";
  if (!options.settings.has("model")) options.settings.set("model", "birefnet");
  if (!size.empty()) options.settings.set("input-size", size);
  write_safetensors(options.checkpoint, checkpoint.tensors());
  return convert_to_graph(options);
}

std::string birefnet_refusal(const Keys& keys, const std::string& size, ConvertOptions options = {}) {
  return complaint([&] { convert_keys(keys, size, std::move(options)); });
}

std::string identified(const BirefnetSizes& sizes) {
  auto checkpoint = std::make_shared<MemoryCheckpoint>();
  for (const auto& [key, shape] : birefnet(sizes)) checkpoint->add(key, shape, std::vector<float>{});  // shapes only
  return identify(families(), checkpoint).variant->name();
}

TEST(BiRefNet, TheFileIdentifiesTheNetwork) {
  EXPECT_EQ(identified({.width = 96, .depths = {2, 2, 6, 2}, .heads = {3, 6, 12, 24}, .window = 7}), "birefnet_lite");
  EXPECT_EQ(identified({.width = 192, .depths = {2, 2, 18, 2}, .heads = {6, 12, 24, 48}, .window = 12}), "birefnet");
  EXPECT_EQ(identified({.width = 96, .depths = {2, 2, 18, 2}, .heads = {3, 6, 12, 24}, .window = 7}), "birefnet");
  EXPECT_EQ(identified({.attention = false}), "birefnet");
}

TEST(BiRefNet, TheBlobHasPreprocessingAndATask) {
  ConvertOptions options;
  options.settings.set("model", "birefnet.hr");
  const auto graph = convert_keys(birefnet({}), "", options);
  EXPECT_EQ(graph->table.provenance->variant, "birefnet.hr");
  EXPECT_EQ(graph->shape(graph->table.inputs[0]->tensor), (Shape{1, 2048, 2048, 3}));
  EXPECT_EQ(graph->shape(graph->table.outputs[0]->tensor), (Shape{1, 2048, 2048, 1}));
  EXPECT_EQ(graph->table.postprocess->task, fbs::Task::Matting);
  const fbs::PreprocessT& before = *graph->table.preprocess;
  EXPECT_EQ(before.resize_mode, fbs::ResizeMode::Exact);
  EXPECT_EQ(before.resize_h, 2048);
  EXPECT_EQ(before.resize_w, 2048);
  EXPECT_EQ(before.filter, fbs::Filter::Bilinear);
  EXPECT_EQ(before.mean, (std::vector<float>{0.485f, 0.456f, 0.406f}));
  EXPECT_EQ(before.std, (std::vector<float>{0.229f, 0.224f, 0.225f}));
}

// Also if windows and merging do not divide the maps, and if a map is 1x1.
TEST(BiRefNet, IsBuiltForAnySizeOfWholeCells) {
  for (const auto& [size, shape] :
       {std::pair{"32x32", Shape{1, 32, 32, 1}}, {"32x96", Shape{1, 32, 96, 1}}, {"160x64", Shape{1, 160, 64, 1}}}) {
    const auto graph = convert_keys(birefnet({}), size);
    EXPECT_EQ(graph->shape(graph->table.outputs[0]->tensor), shape);
  }
  EXPECT_NO_THROW(convert_keys(birefnet({.window = 4, .attention = false}), "64x64"));
}

TEST(BiRefNet, BothRunsOfTheBackboneHaveTheSameWeights) {
  const auto graph = convert_keys(birefnet({}), "64x64");
  const auto& ops = graph->table.operators;
  std::map<std::string, std::set<TensorId>> weights;
  std::map<std::string, int> uses;
  for (const auto& op : ops)
    if (op->params.AsLinear() || op->params.AsLayerNorm() || op->params.AsConv2d()) {
      const std::string& weight = graph->at(op->inputs[1]).name;
      weights[weight].insert(op->inputs[1]);
      ++uses[weight];
    }
  for (const char* name : {"bb.patch_embed.proj.weight", "bb.layers.0.blocks.0.mlp.fc1.weight", "bb.norm3.weight"}) {
    EXPECT_EQ(weights[name].size(), 1u) << name;
    EXPECT_EQ(uses[name], 2) << name;
  }
  EXPECT_EQ(weights["bb.layers.1.blocks.1.attn.qkv.weight"].size(), 3u) << "queries, keys, values";
  EXPECT_EQ(uses["bb.layers.1.blocks.1.attn.qkv.weight"], 6);
}

TEST(BiRefNet, ATensorThatIsMissingIsNamed) {
  std::set<std::string> kinds;
  for (const auto& [key, shape] : birefnet({})) {
    std::string kind = key;
    std::erase_if(kind, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
    const bool unused = key.find("conv_ms_spvn") != key.npos || key.find("gdt_convs_pred") != key.npos ||
                        key.ends_with("num_batches_tracked") || key.ends_with("relative_position_index");
    if (unused || !kinds.insert(kind).second) continue;
    Keys part = birefnet({});
    part.erase(key);
    const std::string said = birefnet_refusal(part, "32x32");
    const bool probe = key == "bb.patch_embed.proj.weight" || key == "squeeze_module.0.conv_in.weight" ||
                       key == "decoder.conv_out1.0.weight";
    EXPECT_NE(said.find(probe ? "the keys are not those of" : "'" + key + "'"), std::string::npos)
        << key << ": " << said;
  }
}

TEST(BiRefNet, RefusesMismatches) {
  ConvertOptions lite;
  lite.settings.set("model", "birefnet_lite");
  EXPECT_EQ(birefnet_refusal(birefnet({}), "64x64", lite),
            "net.safetensors as birefnet_lite: the checkpoint's backbone is 8 wide with 1, 2, 1, 1 blocks, that of "
            "birefnet_lite 96 with 2, 2, 6, 2: --model birefnet takes any");
  EXPECT_EQ(birefnet_refusal(birefnet({}), "64x80"),
            "net.safetensors as birefnet: input size 64x80: both sides must be multiples of 32");
  ConvertOptions grey;
  grey.settings.set("in-chans", 1);
  EXPECT_EQ(birefnet_refusal(birefnet({}), "64x64", grey),
            "net.safetensors as birefnet: birefnet takes images of 3 channels, not 1");
  Keys keys = birefnet({});
  keys["bb.layers.1.blocks.0.attn.relative_position_bias_table"] = {24, 2};
  EXPECT_EQ(birefnet_refusal(keys, "64x64"),
            "net.safetensors as birefnet: 'bb.layers.1.blocks.0.attn.relative_position_bias_table' has shape [24,2], "
            "expected [(2*window-1)^2,heads]");
  keys = birefnet({.heads = {1, 2, 3, 4}});
  EXPECT_EQ(birefnet_refusal(keys, "64x64"),
            "net.safetensors as birefnet: 'bb.layers.2' has 3 heads for 32 channels, which they do not divide");
  keys = birefnet({});
  keys["squeeze_module.0.conv_in.weight"] = {6, 128, 3, 3};
  EXPECT_EQ(birefnet_refusal(keys, "64x64"),
            "net.safetensors as birefnet: 'squeeze_module.0.conv_in.weight' has shape [6,128,3,3], but module "
            "'squeeze_module.0.conv_in' needs [?,240,3,3]");
}

}  // namespace
}  // namespace ferry
