#include "models/vision/tiny_vit/tiny_vit.h"

#include <cstdlib>

#include "models/blocks/mlp.h"
#include "models/blocks/window_attention.h"
#include "models/vision/classifier.h"
#include "models/vision/published.h"

namespace ferry::tiny_vit {
namespace {

struct Config {
  const char* architecture;
  int widths[4];
  int heads[4];    // of stages 1 to 3
  int windows[4];  // sides, likewise
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

Tensor conv_norm(Tensor x, const Weights& w, Conv2dOptions options) {
  options.padding = options.kernel / 2;
  options.bias = false;
  return tap(batch_norm(conv2d(x, w["conv"], options), w["bn"]), w);
}

Tensor inverted_bottleneck(Tensor x, const Weights& w) {
  const int width = channels(x), expanded = 4 * width;
  Tensor y = tap(gelu(conv_norm(x, w["conv1"], {.out = expanded, .kernel = 1})), w["act1"]);
  y = tap(gelu(conv_norm(y, w["conv2"], {.out = expanded, .kernel = 3, .groups = expanded})), w["act2"]);
  y = conv_norm(y, w["conv3"], {.out = width, .kernel = 1});
  return tap(tap(gelu(y + x), w["act3"]), w, kBlock);
}

Tensor patch_merging(Tensor x, const Weights& w, int out) {
  x = tap(gelu(conv_norm(x, w["conv1"], {.out = out, .kernel = 1})), w["act1"]);
  x = tap(gelu(conv_norm(x, w["conv2"], {.out = out, .kernel = 3, .stride = 2, .groups = out})), w["act2"]);
  return tap(conv_norm(x, w["conv3"], {.out = out, .kernel = 1}), w, kBlock);
}

// What a head adds for two places of a window: one number for each distance of rows and of columns. [1,heads,L,L]
Tensor attention_biases(const Weights& w, int heads, int side) {
  const int places = side * side;
  const std::vector<double> table = w.graph().values(w("attention_biases", {heads, places}).id);
  std::vector<double> bias;
  bias.reserve(static_cast<size_t>(heads * places) * static_cast<size_t>(places));
  for (int head = 0; head < heads; ++head)
    for (int query = 0; query < places; ++query)
      for (int key = 0; key < places; ++key) {
        const int rows = std::abs(query / side - key / side), columns = std::abs(query % side - key % side);
        bias.push_back(table[static_cast<size_t>(head * places + rows * side + columns)]);
      }
  return w.graph().add_constant(w.name() + ".bias", Shape{1, heads, places, places}, std::move(bias));
}

Tensor self_attention(Tensor x, const Weights& w, int heads, int side) {
  const int width = channels(x);
  const Tensor qkv = qkv_by_heads(layer_norm(x, w["norm"]), w["qkv"], heads, width);
  const Tensor q = slice(qkv, -1, 0, width), k = slice(qkv, -1, width, width), v = slice(qkv, -1, 2 * width, width);
  w["attention_bias_idxs"].discard();  // which distance each two places have
  const Tensor y = attention(q, k, v, {.heads = heads}, {attention_biases(w, heads, side)});
  return tap(linear(y, w["proj"], {.out = width}), w);
}

Tensor block(Tensor x, const Weights& w, int heads, int side) {
  const Shape map = x.shape();
  const int below = (side - map[1] % side) % side, right = (side - map[2] % side) % side;
  const bool padded = below > 0 || right > 0;
  Tensor y = window_partition(padded ? pad2d(x, 0, 0, below, right) : x, side);
  y = window_reverse(self_attention(y, w["attn"], heads, side), side, 0, 0, map[1] + below, map[2] + right);
  if (padded) y = slice(slice(y, 1, 0, map[1]), 2, 0, map[2]);
  x = conv_norm(x + y, w["local_conv"], {.out = map[3], .kernel = 3, .groups = map[3]});
  x = reshape(x, {0, -1, map[3]});
  const Tensor normal = layer_norm(x, w["mlp.norm"]);
  x = reshape(x + mlp(normal, w["mlp"], {.hidden = 4 * map[3]}), {0, map[1], map[2], map[3]});
  return tap(x, w.channels_last(), kBlock);
}

// timm's names are the canonical ones. Its head runs for `features` and again for `logits`: two records each.
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

PictureVariant timm(const char* architecture, const char* tag, int size = 224) {
  return ferry::timm(architecture, tag, {.size = size, .crop_pct = size == 224 ? 0.95 : 1.0});
}

}  // namespace

void build(Graph& graph, const Weights& w, const PictureOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  const Weights embed = w["patch_embed"];
  const int width = config.widths[0];
  Tensor x = picture_input(graph, options);
  x = conv_norm(x, embed["conv1"], {.out = width / 2, .kernel = 3, .stride = 2, .adapt_input = true});
  x = conv_norm(tap(gelu(x), embed["act"]), embed["conv2"], {.out = width, .kernel = 3, .stride = 2});
  tap(x, embed, kBlock);
  for (int s = 0; s < 4; ++s) {
    const Weights stage = w["stages"][s];
    if (s > 0) x = patch_merging(x, stage["downsample"], config.widths[s]);
    for (int b = 0; b < kDepths[s]; ++b) {
      const Weights inner = stage["blocks"][b];
      x = s == 0 ? inverted_bottleneck(x, inner) : block(x, inner, config.heads[s], config.windows[s]);
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

// Settings as in timm's pretrained configurations.
std::span<const PictureVariant> variants() {
  static const PictureVariant table[] = {
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
