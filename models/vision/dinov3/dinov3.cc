#include "models/vision/dinov3/dinov3.h"

#include <cmath>
#include <numbers>

#include "models/blocks/attention.h"
#include "models/blocks/mlp.h"
#include "models/blocks/patch_embed.h"
#include "models/vision/classifier.h"

namespace ferry::dinov3 {
namespace {

constexpr int kPatch = 16;
constexpr int kRegisters = 4;
constexpr int kPrefix = 1 + kRegisters;
constexpr double kEpsilon = 1e-5;
constexpr double kTemperature = 100;  // of the rotary periods

// Wavelengths of the rotary embedding along one axis, where the picture is 2 long. The authors' checkpoints hold them,
// rounded to bfloat16.
std::vector<double> periods(const Weights& w, int count) {
  if (w.has("periods")) return w.values("periods", count);
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(std::pow(kTemperature, static_cast<double>(i) / count));
  return out;
}

// Angles of a head's first half are those of the row's place, then of the column's; the second half repeats them. The
// prefix is not turned.
RotaryTable rotary(const Weights& w, Grid grid, int head) {
  const std::vector<double> wavelengths = periods(w, head / 4);
  const auto place = [](int i, int count) { return 2 * (i + 0.5) / count - 1; };
  std::vector<double> cos(static_cast<size_t>(kPrefix * head), 1.0), sin(cos.size(), 0.0);
  for (int y = 0; y < grid.height; ++y) {
    for (int x = 0; x < grid.width; ++x) {
      for (int half = 0; half < 2; ++half) {
        for (const double coordinate : {place(y, grid.height), place(x, grid.width)}) {
          for (const double wavelength : wavelengths) {
            const double angle = 2 * std::numbers::pi * coordinate / wavelength;
            cos.push_back(std::cos(angle));
            sin.push_back(std::sin(angle));
          }
        }
      }
    }
  }
  const Shape shape{kPrefix + grid.size(), head};
  Graph& graph = w.graph();
  return {.cos = graph.add_constant("rope.cos", shape, std::move(cos)),
          .sin = graph.add_constant("rope.sin", shape, std::move(sin))};
}

Tensor block(Tensor x, const Weights& w, const Config& config, const RotaryTable& rotary) {
  using Bias = SelfAttentionOptions::Bias;
  const auto scale = [&](Tensor y, const Weights& gamma) { return tap(y * gamma.parameter({config.width}), gamma); };
  Tensor y = layer_norm(x, w["norm1"], kEpsilon);
  y = self_attention(y, w["attn"],
                     {.heads = config.heads,
                      .bias = config.qkv_bias ? Bias::QueryValue : Bias::None,
                      .epsilon = kEpsilon,
                      .rotary = &rotary});
  x = x + scale(y, w["gamma_1"]);
  y = layer_norm(x, w["norm2"], kEpsilon);
  y = config.gated ? swiglu(y, w["mlp"], config.hidden) : mlp(y, w["mlp"], {.hidden = config.hidden});
  return tap(x + scale(y, w["gamma_2"]), w, kBlock);
}

}  // namespace

void build(Graph& graph, const Weights& w, const PictureOptions& options) {
  build(graph, w, options, config_of(options.variant.architecture));
}

void build(Graph& graph, const Weights& w, const PictureOptions& options, const Config& config) {
  const Grid grid{options.height / kPatch, options.width / kPatch};
  const int width = config.width;
  w["mask_token"].discard();  // hides patches in training
  const RotaryTable table = rotary(w["rope"], grid, width / config.heads);
  tap(slice(table.cos, 0, kPrefix, grid.size()), w["rope"]);

  Tensor x = patch_map(picture_input(graph, options), w["patch_embed"], {.out = width, .patch = kPatch});
  x = to_tokens(tap(x, w["patch_embed"].channels_last()));
  x = prepend_tokens(
      x, concat({w["cls_token"].parameter({1, 1, width}), w["reg_token"].parameter({1, kRegisters, width})}, 1));
  x = tap(tap(x, w["pos_drop"], kBlock), w["norm_pre"]);
  const auto patches = [&](Tensor tokens) { return to_map(slice(tokens, 1, kPrefix, grid.size()), grid); };
  for (int b = 0; b < config.depth; ++b) {
    x = block(x, w["blocks"][b], config, table);
    // timm's features_only: the last three blocks.
    if (const int level = b - (config.depth - 3); level >= 0)
      graph.add_tap("feat/" + std::to_string(level), patches(x), fbs::Layout::NCHW, false);
  }
  x = layer_norm(x, w["norm"], kEpsilon);
  tap(x, w["norm"], kBlock);
  graph.add_tap("features", x, fbs::Layout::Same, kBlock);
  const Tensor pooled = config.class_pool ? reshape(slice(x, 1, 0, 1), {0, -1}) : flatten(global_avg_pool(patches(x)));
  classify(tap(pooled, w["fc_norm"]), w["head"], options);
  if (config.class_pool) graph.add_output("last_hidden_state", x, fbs::Layout::Same);
}

}  // namespace ferry::dinov3
