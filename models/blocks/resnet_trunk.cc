#include "models/blocks/resnet_trunk.h"

#include "models/blocks/squeeze_excite.h"

namespace ferry {
namespace {

struct Block {
  int out;  // channels; 0: taken from the weight's shape
  int stride, dilation;
};

Tensor stem(Tensor x, const Weights& w, const ResNetConfig& config) {
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

Tensor downsample(Tensor x, const Weights& w, const ResNetConfig& config, const Block& block) {
  const Weights down = w["downsample"];
  const bool same = block.out > 0 ? channels(x) == block.out : !down[0].has("weight");
  if (block.stride == 1 && same) return tap(x, w["shortcut"]);
  if (config.deep) {
    if (block.stride > 1)
      x = tap(avg_pool2d(x, {.kernel = 2, .stride = block.stride, .ceil_mode = true, .count_include_pad = false}),
              down[0]);
    x = batch_norm(conv2d(x, down[1], {.out = block.out, .kernel = 1, .bias = false}), down[2]);
  } else {
    x = conv2d(x, down[0], {.out = block.out, .kernel = 1, .stride = block.stride, .bias = false});
    x = batch_norm(x, down[1]);
  }
  return tap(x, down);
}

Tensor basic_block(Tensor x, const Weights& w, const ResNetConfig& config, const Block& block) {
  const Tensor shortcut = downsample(x, w, config, block);

  x = conv2d(x, w["conv1"], {.out = block.out, .kernel = 3, .stride = block.stride, .padding = 1, .bias = false});
  x = tap(config.act(batch_norm(x, w["bn1"])), w["act1"]);
  x = conv2d(x, w["conv2"], {.out = block.out, .kernel = 3, .padding = 1, .bias = false});
  x = batch_norm(x, w["bn2"]);
  if (config.se) x = squeeze_excite(x, w["se"], {.reduced = round_channels(channels(x) / 16.0, 0)});
  return tap(config.act(x + shortcut), w["act2"]);
}

Tensor bottleneck(Tensor x, const Weights& w, const ResNetConfig& config, const Block& block) {
  const Tensor shortcut = downsample(x, w, config, block);
  const int planes = block.out / 4, dilation = block.dilation;
  const int first = config.stride_early ? block.stride : 1, second = block.stride / first;
  x = conv2d(x, w["conv1"], {.out = planes, .kernel = 1, .stride = first, .bias = false});
  x = tap(config.act(batch_norm(x, w["bn1"])), w["act1"]);
  x = conv2d(x, w["conv2"],
             {.out = planes, .kernel = 3, .stride = second, .padding = dilation, .dilation = dilation, .bias = false});
  x = tap(config.act(batch_norm(x, w["bn2"])), w["act2"]);
  x = conv2d(x, w["conv3"], {.out = block.out, .kernel = 1, .bias = false});
  x = batch_norm(x, w["bn3"]);
  if (config.se) x = squeeze_excite(x, w["se"], {.reduced = round_channels(channels(x) / 16.0, 0)});
  return tap(config.act(x + shortcut), w["act3"]);
}

}  // namespace

Tensor resnet_trunk(Tensor x, const Weights& w, const ResNetConfig& config) {
  x = stem(x, w, config);
  int former = 1;  // dilation of the previous stage
  for (size_t stage = 0; stage < config.layers.size(); ++stage) {
    const Weights layer = w["layer" + std::to_string(stage + 1)];
    const int dilation = config.dilation(stage);
    const bool halves = (stage > 0 || config.stride_first) && dilation == former;
    Block block = {config.width(stage), halves ? 2 : 1, former};
    for (int b = 0; b < config.layers[stage]; ++b) {
      x = config.bottleneck ? bottleneck(x, layer[b], config, block) : basic_block(x, layer[b], config, block);
      tap(x, layer[b], kBlock);
      block.stride = 1;
      block.dilation = dilation;
    }
    former = dilation;
    tap(x, layer, kBlock);
    w.graph().add_tap("feat/" + std::to_string(stage + 1), x, fbs::Layout::NCHW, kBlock);
  }
  return x;
}

}  // namespace ferry
