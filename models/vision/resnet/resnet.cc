#include "models/vision/resnet/resnet.h"

#include "models/blocks/squeeze_excite.h"
#include "models/vision/classifier.h"

namespace ferry::resnet {
namespace {

Tensor stem(Tensor x, const Weights& w, const Config& config) {
  if (config.deep) {
    const Weights conv1 = w["conv1"];
    x = conv2d(x, conv1[0], {.out = 32, .kernel = 3, .stride = 2, .padding = 1, .bias = false, .adapt_input = true});
    x = tap(config.act(batch_norm(x, conv1[1])), conv1[2]);
    x = conv2d(x, conv1[3], {.out = 32, .kernel = 3, .padding = 1, .bias = false});
    x = tap(config.act(batch_norm(x, conv1[4])), conv1[5]);
    x = tap(conv2d(x, conv1[6], {.out = 64, .kernel = 3, .padding = 1, .bias = false}), conv1);
  } else {
    x = conv2d(x, w["conv1"],
               {.out = config.stem, .kernel = 7, .stride = 2, .padding = 3, .bias = false, .adapt_input = true});
  }
  x = tap(config.act(batch_norm(x, w["bn1"])), w["act1"], kBlock);
  w.graph().add_tap("feat/0", x, fbs::Layout::NCHW, kBlock);
  return tap(max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1}), w["maxpool"], kBlock);
}

Tensor downsample(Tensor x, const Weights& w, const Config& config, int out, int stride) {
  const Weights down = w["downsample"];
  if (stride == 1 && channels(x) == out) return tap(x, w["shortcut"]);
  if (config.deep) {
    if (stride > 1)
      x = tap(avg_pool2d(x, {.kernel = 2, .stride = stride, .ceil_mode = true, .count_include_pad = false}), down[0]);
    x = batch_norm(conv2d(x, down[1], {.out = out, .kernel = 1, .bias = false}), down[2]);
  } else {
    x = batch_norm(conv2d(x, down[0], {.out = out, .kernel = 1, .stride = stride, .bias = false}), down[1]);
  }
  return tap(x, down);
}

Tensor basic_block(Tensor x, const Weights& w, const Config& config, int out, int stride) {
  const Tensor shortcut = downsample(x, w, config, out, stride);

  x = conv2d(x, w["conv1"], {.out = out, .kernel = 3, .stride = stride, .padding = 1, .bias = false});
  x = tap(config.act(batch_norm(x, w["bn1"])), w["act1"]);
  x = conv2d(x, w["conv2"], {.out = out, .kernel = 3, .padding = 1, .bias = false});
  x = batch_norm(x, w["bn2"]);
  if (config.se) x = squeeze_excite(x, w["se"], {.reduced = round_channels(channels(x) / 16.0, 0)});
  return tap(config.act(x + shortcut), w["act2"]);
}

Tensor bottleneck(Tensor x, const Weights& w, const Config& config, int out, int stride) {
  const Tensor shortcut = downsample(x, w, config, out, stride);
  const int planes = out / 4, first = config.stride_early ? stride : 1, second = stride / first;
  x = conv2d(x, w["conv1"], {.out = planes, .kernel = 1, .stride = first, .bias = false});
  x = tap(config.act(batch_norm(x, w["bn1"])), w["act1"]);
  x = conv2d(x, w["conv2"], {.out = planes, .kernel = 3, .stride = second, .padding = 1, .bias = false});
  x = tap(config.act(batch_norm(x, w["bn2"])), w["act2"]);
  x = conv2d(x, w["conv3"], {.out = out, .kernel = 1, .bias = false});
  x = batch_norm(x, w["bn3"]);
  if (config.se) x = squeeze_excite(x, w["se"], {.reduced = round_channels(channels(x) / 16.0, 0)});
  return tap(config.act(x + shortcut), w["act3"]);
}

}  // namespace

void build(Graph& graph, const Weights& w, const PictureOptions& options) {
  const Config config = options.config ? from_transformers(*options.config) : config_of(options.variant.architecture);
  Tensor x = stem(picture_input(graph, options), w, config);
  for (size_t stage = 0; stage < config.layers.size(); ++stage) {
    const Weights layer = w["layer" + std::to_string(stage + 1)];
    const int out = config.width(stage);
    for (int b = 0; b < config.layers[stage]; ++b) {
      const int stride = b == 0 && (stage > 0 || config.stride_first) ? 2 : 1;
      x = config.bottleneck ? bottleneck(x, layer[b], config, out, stride)
                            : basic_block(x, layer[b], config, out, stride);
      tap(x, layer[b], kBlock);
    }
    tap(x, layer, kBlock);
    graph.add_tap("feat/" + std::to_string(stage + 1), x, fbs::Layout::NCHW, kBlock);
  }
  graph.add_tap("features", x, fbs::Layout::NCHW, kBlock);
  const Tensor pooled = tap(global_avg_pool(x), w["global_pool.pool"], kBlock);
  classify(tap(flatten(pooled), w["global_pool"], kBlock), w["fc"], options);
  add_last_hidden_state(x, fbs::Layout::NCHW, options);
}

}  // namespace ferry::resnet
