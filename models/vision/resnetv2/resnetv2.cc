#include "models/vision/resnetv2/resnetv2.h"

#include "models/vision/classifier.h"

namespace ferry::resnetv2 {
namespace {

Tensor std_conv(Tensor x, const Weights& w, Conv2dOptions o) {
  o.bias = false;
  o.padding = o.kernel / 2;
  o.standardize = 1e-8;
  return conv2d(x, w, o);
}

Tensor bottleneck(Tensor x, const Weights& w, int out, int stride, bool project) {
  const Tensor before = group_norm_act(x, w["norm1"], relu);
  Tensor shortcut = x;
  if (project) {
    const Weights down = w["downsample"];
    shortcut = tap(std_conv(before, down["conv"], {.out = out, .kernel = 1, .stride = stride}), down);
  }
  x = std_conv(before, w["conv1"], {.out = out / 4, .kernel = 1});
  x = group_norm_act(x, w["norm2"], relu);
  x = std_conv(x, w["conv2"], {.out = out / 4, .kernel = 3, .stride = stride});
  x = group_norm_act(x, w["norm3"], relu);
  x = std_conv(x, w["conv3"], {.out = out, .kernel = 1});
  return tap(x + shortcut, w, kBlock);
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  const Weights stem = w["stem"], head = w["head"];

  Tensor x = image_input(graph, options);
  x = std_conv(x, stem["conv"], {.out = 64 * config.width, .kernel = 7, .stride = 2, .adapt_input = true});
  graph.add_tap("feat/0", tap(x, stem["conv"], kBlock), fbs::Layout::NCHW, kBlock);
  // Padding with zeros instead of -infinity: the convolution's values may be negative, so zeros can be the maximum.
  x = tap(pad2d(x, 1, 1, 1, 1), stem["pad"]);
  x = tap(tap(max_pool2d(x, {.kernel = 3, .stride = 2}), stem["pool"]), stem, kBlock);
  for (int s = 0; s < 4; ++s) {
    const Weights stage = w["stages"][s];
    for (int b = 0; b < config.layers[s]; ++b) {
      const int stride = s > 0 && b == 0 ? 2 : 1;
      x = bottleneck(x, stage["blocks"][b], (256 << s) * config.width, stride, b == 0);
    }
    tap(x, stage, kBlock);
    graph.add_tap("feat/" + std::to_string(s + 1), x, fbs::Layout::NCHW, kBlock);
  }
  x = group_norm_act(x, w["norm"], relu);
  graph.add_tap("features", x, fbs::Layout::NCHW, kBlock);

  // The classifier is a 1x1 convolution of the pooled map.
  x = tap(global_avg_pool(x), head["global_pool"], kBlock);
  const Tensor pooled = tap(flatten(x), head["flatten"], kBlock);
  graph.add_tap("pooled", pooled, fbs::Layout::Same, kBlock);
  if (options.num_classes == 0) {
    head.discard();
    graph.add_tap("logits", tap(pooled, head), fbs::Layout::Same, kBlock);
    graph.add_output("pooled", pooled, fbs::Layout::Same);
    return;
  }
  const Tensor classes = conv2d(x, head["fc"], {.kernel = 1});
  check_classes(channels(classes), head["fc"], options);
  graph.add_output("logits", tap(flatten(classes), head), fbs::Layout::Same);
}

}  // namespace ferry::resnetv2
