#include "models/vision/coatnet/coatnet.h"

#include <cmath>

#include "models/blocks/mlp.h"
#include "models/blocks/squeeze_excite.h"
#include "models/blocks/window_attention.h"
#include "models/vision/classifier.h"

namespace ferry::coatnet {
namespace {

constexpr double kConvEpsilon = 1e-5, kAttentionEpsilon = 1e-6;

Tensor pool(Tensor x, Pool kind) {
  if (kind == Pool::Max3) return max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1});
  return avg_pool2d(x, {.kernel = 2, .stride = 2});
}

// Halves the size; a 1x1 convolution adapts the channels if they differ.
Tensor downsample(Tensor x, const Weights& w, Pool kind, int out, bool bias) {
  x = tap(pool(x, kind), w["pool"]);
  if (channels(x) != out) x = conv2d(x, w["expand"], {.out = out, .kernel = 1, .bias = bias});
  return tap(x, w);
}

Tensor norm_act(Tensor x, const Weights& w, const Config& config) {
  return batch_norm_act(x, w, config.act, kConvEpsilon);
}

Tensor inverted_bottleneck(Tensor x, const Weights& w, const Config& config, int out, int stride) {
  const int in = channels(x), expanded = 4 * (config.expand_output ? out : in);
  const Tensor shortcut = stride == 1 ? x : downsample(x, w["shortcut"], config.pool, out, config.conv_bias);
  x = config.pre_norm_act ? norm_act(x, w["pre_norm"], config) : batch_norm(x, w["pre_norm"], kConvEpsilon);
  if (stride > 1 && config.stride_in_pool) x = downsample(x, w["down"], Pool::Average2, in, false);
  x = norm_act(conv2d(x, w["conv1_1x1"], {.out = expanded, .kernel = 1, .bias = false}), w["norm1"], config);
  x = conv2d(x, w["conv2_kxk"],
             {.out = expanded,
              .kernel = 3,
              .stride = config.stride_in_pool ? 1 : stride,
              .padding = 1,
              .groups = expanded,
              .bias = false});
  const SqueezeExciteOptions squeeze = {.reduced = expanded / 4 / (config.expand_output ? 4 : 1),
                                        .act = config.squeeze_act};
  if (config.squeeze_early) x = squeeze_excite(x, w["se_early"], squeeze);
  x = norm_act(x, w["norm2"], config);
  if (!config.squeeze_early) x = squeeze_excite(x, w["se"], squeeze);
  x = conv2d(x, w["conv3_1x1"], {.out = out, .kernel = 1, .bias = config.conv_bias});
  return tap(tap(x, w["drop_path"]) + shortcut, w, kBlock);
}

// Continuous position bias: an MLP maps log-coordinates of the row and column offsets to one bias per head.
std::vector<double> position_table(const Weights& w, int heads, int hidden, int height, int width) {
  const auto read = [&w](const char* layer, const char* leaf, const Shape& shape) {
    return w.graph().values(w["mlp"][layer](leaf, shape).id);
  };
  const auto size = static_cast<size_t>(hidden), outs = static_cast<size_t>(heads);
  const std::vector<double> fc1 = read("fc1", "weight", {hidden, 2}), bias1 = read("fc1", "bias", {hidden});
  const std::vector<double> fc2 = read("fc2", "weight", {heads, hidden}), bias2 = read("fc2", "bias", {heads});
  w["relative_position_index"].discard();
  w["rel_coords_log"].discard();
  std::vector<double> table;
  for (int row = 1 - height; row < height; ++row)
    for (int column = 1 - width; column < width; ++column) {
      const double y = std::copysign(std::log1p(std::abs(row)), row);
      const double x = std::copysign(std::log1p(std::abs(column)), column);
      std::vector<double> head = bias2;
      for (size_t i = 0; i < size; ++i) {
        const double unit = std::max(0.0, fc1[2 * i] * y + fc1[2 * i + 1] * x + bias1[i]);
        for (size_t h = 0; h < outs; ++h) head[h] += fc2[h * size + i] * unit;
      }
      table.insert(table.end(), head.begin(), head.end());
    }
  return table;
}

Tensor self_attention(Tensor x, const Weights& w, const Config& config, int out) {
  const Shape map = x.shape();
  const int height = map[1], width = map[2], inner = config.expand_first ? out : channels(x), heads = inner / 32;
  const Weights positions = w["rel_pos"];
  const Tensor bias =
      config.positions == Positions::Table
          ? relative_position_bias(positions, heads, height, width)
          : relative_position_bias(w.graph(), position_table(positions, heads, config.positions_hidden, height, width),
                                   heads, height, width);
  const Tensor qkv = reshape(qkv_by_heads(x, w["qkv"], heads, inner), {0, -1, 3 * inner});
  const Tensor q = slice(qkv, -1, 0, inner), k = slice(qkv, -1, inner, inner), v = slice(qkv, -1, 2 * inner, inner);
  x = reshape(attention(q, k, v, {.heads = heads}, {bias}), {0, height, width, inner});
  return tap(conv2d(x, w["proj"], {.out = out, .kernel = 1}), w);
}

Tensor norm(Tensor x, const Weights& w, const Config& config) {
  return config.batch_norm ? batch_norm(x, w, kAttentionEpsilon) : layer_norm(x, w, kAttentionEpsilon);
}

Tensor scale(Tensor x, const Weights& w, const Config& config) {
  return config.layer_scale ? tap(x * w("gamma", {channels(x)}), w) : x;
}

Tensor transformer(Tensor x, const Weights& w, const Config& config, int out, int stride) {
  Tensor shortcut = x, y;
  if (stride > 1) {
    shortcut = downsample(x, w["shortcut"], config.pool, out, config.shortcut_bias);
    y = norm(x, w["norm1.norm"], config);
    y = tap(downsample(y, w["norm1.down"], config.pool, channels(x), false), w["norm1"]);
  } else {
    y = norm(x, w["norm1"], config);
  }
  y = scale(self_attention(y, w["attn"], config, out), w["ls1"], config);
  x = shortcut + tap(y, w["drop_path1"]);
  y = mlp(norm(x, w["norm2"], config), w["mlp"], {.hidden = 4 * out, .conv = true});
  return tap(x + tap(scale(y, w["ls2"], config), w["drop_path2"]), w, kBlock);
}

// Pool, norm, a hidden layer with tanh, classifier.
void hidden_head(Tensor x, const Weights& w, const Config& config, const ImageOptions& options) {
  x = layer_norm(tap(global_avg_pool(x), w["global_pool"], kBlock), w["norm"], kAttentionEpsilon);
  x = linear(tap(flatten(x), w["flatten"]), w["pre_logits.fc"], {.out = config.head_hidden});
  x = tap(tap(tanh(x), w["pre_logits.act"]), w["pre_logits"], kBlock);
  classify(x, w["fc"], options);
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  const Weights stem = w["stem"];
  Tensor x = image_input(graph, options);
  x = conv2d(x, stem["conv1"],
             {.out = config.stem[0], .kernel = 3, .stride = 2, .padding = 1, .bias = false, .adapt_input = true});
  x = norm_act(x, stem["norm1"], config);
  x = conv2d(x, stem["conv2"], {.out = config.stem[1], .kernel = 3, .padding = 1, .bias = false});
  tap(x, stem, kBlock);
  graph.add_tap("feat/0", x, fbs::Layout::NCHW, kBlock);
  for (int s = 0; s < 4; ++s) {
    const Weights stage = w["stages"][s];
    const auto block = s < 2 ? inverted_bottleneck : transformer;
    for (int b = 0; b < config.depths[s]; ++b)
      x = block(x, stage["blocks"][b], config, config.widths[s], b == 0 ? 2 : 1);
    tap(x, stage, kBlock);
    graph.add_tap("feat/" + std::to_string(s + 1), x, fbs::Layout::NCHW, kBlock);
  }
  const bool hidden = config.head_hidden > 0;
  if (!hidden) x = norm(x, w["norm"], config);
  graph.add_tap("features", x, fbs::Layout::NCHW, kBlock);
  const Weights head = w["head"];
  if (hidden) return hidden_head(x, head, config, options);
  x = tap(global_avg_pool(x), head["global_pool.pool"], kBlock);
  classify(tap(flatten(x), head["global_pool"], kBlock), head["fc"], options);
}

// timm's module names are canonical. The reference runs the head for `features` and for `logits`: two records each.
std::span<const Naming> namings() {
  static const Naming table[] = {
      {.framework = "timm",
       .probes = {"stem.conv2.weight", "stages.0.blocks.0.conv2_kxk.weight", "stages.3.blocks.0.attn.qkv.weight"},
       .taps = {{"head.global_pool.pool", {"head.global_pool.pool", "head.global_pool.pool#1"}},
                {"head.global_pool", {"head.global_pool", "head.global_pool#1"}}}}};
  return table;
}

}  // namespace ferry::coatnet
