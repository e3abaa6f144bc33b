#include "models/vision/repvit/repvit.h"

#include "models/blocks/squeeze_excite.h"
#include "models/vision/classifier.h"

namespace ferry::repvit {
namespace {

Tensor conv_norm(Tensor x, const Weights& w, Conv2dOptions o) {
  o.bias = false;
  o.padding = o.kernel / 2;
  return tap(batch_norm(conv2d(x, w["c"], o), w["bn"]), w);
}

Tensor token_mixer(Tensor x, const Weights& w, bool legacy) {
  const int width = channels(x);
  const Conv2dOptions small = {.out = width, .kernel = 1, .groups = width};
  Tensor y = conv_norm(x, w["conv"], {.out = width, .kernel = 3, .groups = width});
  if (legacy)
    y = y + conv_norm(x, w["conv1"], small) + x;
  else
    y = batch_norm(y + conv2d(x, w["conv1"], small) + x, w["bn"]);
  return tap(y, w);
}

Tensor channel_mixer(Tensor x, const Weights& w) {
  const int width = channels(x);
  Tensor y = tap(gelu(conv_norm(x, w["conv1"], {.out = 2 * width, .kernel = 1})), w["act"]);
  return tap(conv_norm(y, w["conv2"], {.out = width, .kernel = 1}), w);
}

Tensor block(Tensor x, const Weights& w, bool squeeze, bool legacy) {
  x = token_mixer(x, w["token_mixer"], legacy);
  if (squeeze) x = squeeze_excite(x, w["se"], {.reduced = round_channels(channels(x) / 4.0, 0)});
  return tap(x + channel_mixer(x, w["channel_mixer"]), w, kBlock);
}

Tensor downsample(Tensor x, const Weights& w, int out, bool legacy) {
  x = block(x, w["pre_block"], false, legacy);
  const int width = channels(x);
  x = conv_norm(x, w["spatial_downsample"], {.out = width, .kernel = 3, .stride = 2, .groups = width});
  x = conv_norm(x, w["channel_downsample"], {.out = out, .kernel = 1});
  return tap(channel_mixer(x, w["ffn"]) + x, w, kBlock);
}

Tensor norm_linear(Tensor x, const Weights& w) { return tap(linear(batch_norm(x, w["bn"]), w["l"]), w); }

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  build(graph, w, options, config_of(options.variant.architecture));
}

void build(Graph& graph, const Weights& w, const ImageOptions& options, const Config& config) {
  const Weights stem = w["stem"], head = w["head"];

  Tensor x = image_input(graph, options);
  x = conv_norm(x, stem["conv1"], {.out = config.width / 2, .kernel = 3, .stride = 2, .adapt_input = true});
  x = conv_norm(tap(gelu(x), stem["act1"]), stem["conv2"], {.out = config.width, .kernel = 3, .stride = 2});
  tap(x, stem, kBlock);
  for (int s = 0; s < 4; ++s) {
    const Weights stage = w["stages"][s];
    if (s > 0) x = downsample(x, stage["downsample"], config.width << s, config.legacy);
    for (int b = 0; b < config.depth[s]; ++b) x = block(x, stage["blocks"][b], b % 2 == 0, config.legacy);
    tap(x, stage, kBlock);
    graph.add_tap("feat/" + std::to_string(s), x, fbs::Layout::NCHW, kBlock);
  }
  graph.add_tap("features", x, fbs::Layout::NCHW, kBlock);

  x = tap(flatten(global_avg_pool(x)), head["head_drop"], kBlock);
  graph.add_tap("pooled", x, fbs::Layout::Same, kBlock);
  if (options.num_classes == 0) {
    head.discard();
    graph.add_tap("logits", tap(x, head), fbs::Layout::Same, kBlock);
    graph.add_output("pooled", x, fbs::Layout::Same);
    return;
  }
  // The second classifier was trained by distillation; the logits are averaged.
  x = tap((norm_linear(x, head["head"]) + norm_linear(x, head["head_dist"])) * 0.5, head);
  check_classes(channels(x), head["head.l"], options);
  graph.add_output("logits", x, fbs::Layout::Same);
}

}  // namespace ferry::repvit
