#include "models/vision/convnext/convnext.h"

#include <algorithm>

#include "models/blocks/mlp.h"
#include "models/blocks/patch_embed.h"
#include "models/vision/classifier.h"

namespace ferry::convnext {
namespace {

Tensor stem(Tensor x, const Weights& w, const Config& config) {
  const int width = config.widths[0];
  int norm = 1;
  if (config.stem == Stem::Patch) {
    x = conv2d(x, w[0], {.out = width, .kernel = config.patch, .stride = config.patch, .adapt_input = true});
  } else {
    const int first = config.stem == Stem::OverlapTiered ? std::max(8, (width / 2 + 4) / 8 * 8) : width;
    x = conv2d(x, w[0], {.out = first, .kernel = 3, .stride = 2, .padding = 1, .adapt_input = true});
    x = conv2d(x, w[1], {.out = width, .kernel = 3, .stride = 2, .padding = 1});
    norm = 2;
  }
  return tap(layer_norm(x, w[norm], config.epsilon), w, kBlock);
}

Tensor block(Tensor x, const Weights& w, const Config& config) {
  const int width = channels(x);
  // 1x1 convolutions, or linear layers on N,H,W,C.
  const bool conv_mlp = w["mlp.fc1"].stored_shape("weight").rank == 4;
  const Weights inner = conv_mlp ? w : w.channels_last();
  Tensor y = conv2d(x, w["conv_dw"], {.out = width, .kernel = 7, .padding = 3, .groups = width});
  y = layer_norm(y, inner["norm"], config.epsilon);
  y = mlp(y, inner["mlp"], {.hidden = 4 * width, .act = config.act, .conv = conv_mlp, .grn = config.v2});
  if (!config.v2 && config.layer_scale) y = y * w["gamma"].parameter({width});
  return tap(y + x, w, kBlock);
}

Tensor head(Tensor x, const Weights& w, const Config& config, double epsilon) {
  x = tap(global_avg_pool(x), w["global_pool"]);
  if (!config.norm_first) x = layer_norm(x, w["norm"], epsilon);
  x = tap(flatten(x), w["flatten"]);
  if (config.head_hidden > 0) {
    x = linear(x, w["pre_logits"]["fc"], {.out = config.head_hidden});
    x = tap(gelu(x), w["pre_logits"]["act"]);
  }
  return tap(tap(tap(x, w["pre_logits"]), w["drop"]), w);
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  build(graph, w, options,
        options.config ? from_transformers(*options.config) : config_of(options.variant.architecture));
}

void build(Graph& graph, const Weights& w, const ImageOptions& options, const Config& config) {
  Tensor x = stem(image_input(graph, options), w["stem"], config);
  for (size_t s = 0; s < config.widths.size(); ++s) {
    const Weights stage = w["stages"][static_cast<int>(s)];
    if (s > 0) {
      const Weights down = stage["downsample"];
      x = layer_norm(x, down[0], config.epsilon);
      x = tap(conv2d(x, down[1], {.out = config.widths[s], .kernel = 2, .stride = 2}), down);
    }
    for (int b = 0; b < config.depths[s]; ++b) x = block(x, stage["blocks"][b], config);
    tap(x, stage, kBlock);
    graph.add_tap("feat/" + std::to_string(s), x, fbs::Layout::NCHW, kBlock);
  }
  x = config.norm_first ? layer_norm(x, w["norm_pre"], config.epsilon) : tap(x, w["norm_pre"]);
  graph.add_tap("features", x, fbs::Layout::NCHW, kBlock);
  if (config.tokens) {
    const Tensor pooled = tap(global_avg_pool(x), w["head"]["global_pool"]);
    x = layer_norm(concat({to_tokens(pooled), to_tokens(x)}, 1), w["head"]["norm"], config.epsilon);
    classify(tap(reshape(slice(x, 1, 0, 1), {0, -1}), w["head"]), w["head"]["fc"], options);
    graph.add_output("last_hidden_state", x, fbs::Layout::Same);
    return;
  }
  // transformers' setting applies to this norm alone.
  const double epsilon = options.variant.layer_norm_eps.value_or(config.epsilon);
  classify(head(x, w["head"], config, epsilon), w["head"]["fc"], options);
  add_last_hidden_state(x, fbs::Layout::NCHW, options);
}

}  // namespace ferry::convnext
