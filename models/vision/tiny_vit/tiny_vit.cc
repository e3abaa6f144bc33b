#include "models/vision/tiny_vit/tiny_vit.h"

#include "models/blocks/patch_embed.h"
#include "models/blocks/tiny_vit.h"
#include "models/vision/classifier.h"
#include "models/vision/published.h"

namespace ferry::tiny_vit {
namespace {

struct Config {
  const char* architecture;
  int widths[4];
  int heads[4];    // of stages 1 to 3
  int windows[4];  // window sides, likewise
};

constexpr int kDepths[] = {2, 2, 6, 2};
constexpr Config kConfigs[] = {
    {"tiny_vit_5m_224", {64, 128, 160, 320}, {2, 4, 5, 10}, {7, 7, 14, 7}},
    {"tiny_vit_11m_224", {64, 128, 256, 448}, {2, 4, 8, 14}, {7, 7, 14, 7}},
    {"tiny_vit_21m_224", {96, 192, 384, 576}, {3, 6, 12, 18}, {7, 7, 14, 7}},
    {"tiny_vit_21m_384", {96, 192, 384, 576}, {3, 6, 12, 18}, {12, 12, 24, 12}},
    {"tiny_vit_21m_512", {96, 192, 384, 576}, {3, 6, 12, 18}, {16, 16, 32, 16}},
};

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no TinyViT is called '%s'", architecture.c_str());
}

// timm's module names are canonical. The reference runs the head for `features` and for `logits`: two records each.
Naming timm_names() {
  return {.framework = "timm",
          .probes = {"patch_embed.conv1.bn.weight", "stages.1.blocks.0.attn.attention_biases"},
          .taps = {{"head.global_pool", {"head.global_pool", "head.global_pool#1"}},
                   {"head.norm", {"head.norm", "head.norm#1"}},
                   {"head.flatten",
                    {"head.flatten", "head.flatten#1", "head.pre_logits", "head.pre_logits#1", "head.drop",
                     "head.drop#1", "head"}},
                   {"head.fc", {"head.fc", "head#1"}}}};
}

ImageVariant timm(const char* architecture, const char* tag, int size = 224) {
  return ferry::timm(architecture, tag, {.size = size, .crop_pct = size == 224 ? 0.95 : 1.0});
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  Tensor x = tiny_vit_stem(image_input(graph, options), w["patch_embed"], config.widths[0]);
  for (int s = 0; s < 4; ++s) {
    const Weights stage = w["stages"][s];
    if (s > 0) x = tap(tiny_vit_merging(x, stage["downsample"], config.widths[s]), stage["downsample"], kBlock);
    for (int b = 0; b < kDepths[s]; ++b) {
      const Weights inner = stage["blocks"][b];
      const Grid grid{x.shape()[1], x.shape()[2]};
      x = s == 0 ? tiny_vit_convolution(x, inner)
                 : tap(to_map(tiny_vit_block(x, inner, config.heads[s], config.windows[s]), grid),
                       inner.channels_last(), kBlock);
    }
    tap(x, stage, kBlock);
    graph.add_tap("feat/" + std::to_string(s), x, fbs::Layout::NCHW, kBlock);
  }
  graph.add_tap("features", x, fbs::Layout::NCHW, kBlock);
  const Weights head = w["head"];
  x = layer_norm(tap(global_avg_pool(x), head["global_pool"], kBlock), head["norm"]);
  classify(tap(flatten(x), head["flatten"], kBlock), head["fc"], options);
}

std::span<const Naming> namings() {
  static const Naming table[] = {timm_names()};
  return table;
}

// Settings of timm's pretrained configurations.
std::span<const ImageVariant> variants() {
  static const ImageVariant table[] = {
      timm("tiny_vit_5m_224", "dist_in22k"),
      timm("tiny_vit_5m_224", "dist_in22k_ft_in1k"),
      timm("tiny_vit_5m_224", "in1k"),
      timm("tiny_vit_11m_224", "dist_in22k"),
      timm("tiny_vit_11m_224", "dist_in22k_ft_in1k"),
      timm("tiny_vit_11m_224", "in1k"),
      timm("tiny_vit_21m_224", "dist_in22k"),
      timm("tiny_vit_21m_224", "dist_in22k_ft_in1k"),
      timm("tiny_vit_21m_224", "in1k"),
      timm("tiny_vit_21m_384", "dist_in22k_ft_in1k", 384),
      timm("tiny_vit_21m_512", "dist_in22k_ft_in1k", 512),
  };
  return table;
}

}  // namespace ferry::tiny_vit
