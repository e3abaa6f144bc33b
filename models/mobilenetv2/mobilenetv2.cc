#include "models/mobilenetv2/mobilenetv2.h"

#include <algorithm>
#include <cmath>

#include "models/classifier.h"

namespace ferry::mobilenetv2 {
namespace {

// Table 2 of the paper: expansion, channels, blocks, stride of the first block.
struct Stage {
  int expansion, channels, blocks, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

// The nearest multiple of 8, at least 8 and never less than nine tenths of the value (timm's round_channels).
int round_channels(double value) {
  const int rounded = std::max(8, static_cast<int>(value + 4) / 8 * 8);
  return rounded < 0.9 * value ? rounded + 8 : rounded;
}

Tensor depthwise(Tensor x, const Weights& w, int stride) {
  const int width = channels(x);
  return conv2d(x, w, {.out = width, .kernel = 3, .stride = stride, .padding = 1, .groups = width, .bias = false});
}

// The first stage's block has no expansion (timm's DepthwiseSeparableConv).
Tensor separable(Tensor x, const Weights& w, int out, int stride) {
  x = batch_norm_act(depthwise(x, w["conv_dw"], stride), w["bn1"], relu6);
  return batch_norm(conv2d(x, w["conv_pw"], {.out = out, .kernel = 1, .bias = false}), w["bn2"]);
}

Tensor inverted_residual(Tensor x, const Weights& w, int expansion, int out, int stride) {
  x = conv2d(x, w["conv_pw"], {.out = expansion * channels(x), .kernel = 1, .bias = false});
  x = batch_norm_act(x, w["bn1"], relu6);
  x = batch_norm_act(depthwise(x, w["conv_dw"], stride), w["bn2"], relu6);
  return batch_norm(conv2d(x, w["conv_pwl"], {.out = out, .kernel = 1, .bias = false}), w["bn3"]);
}

Tensor block(Tensor x, const Weights& w, const Stage& stage, int out, int stride) {
  const Tensor y =
      stage.expansion == 1 ? separable(x, w, out, stride) : inverted_residual(x, w, stage.expansion, out, stride);
  return stride == 1 && channels(x) == out ? y + x : y;
}

}  // namespace

void build(Graph& graph, const Weights& w, const BuildOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  const int stem = config.fixed_ends ? 32 : round_channels(32 * config.width);
  const int head = config.fixed_ends ? 1280 : std::max(1280, round_channels(1280 * config.width));

  Tensor x = picture_input(graph, options);
  x = conv2d(x, w["conv_stem"],
             {.out = stem, .kernel = 3, .stride = 2, .padding = 1, .bias = false, .adapt_input = true});
  x = batch_norm_act(x, w["bn1"], relu6);
  int pyramid = 0;
  for (int s = 0; s < 7; ++s) {
    const Stage& stage = kStages[s];
    const bool end = s == 0 || s == 6;
    const int blocks = end ? stage.blocks : static_cast<int>(std::ceil(stage.blocks * config.depth));
    for (int b = 0; b < blocks; ++b) {
      const Weights here = w["blocks"][s][b];
      x = tap(block(x, here, stage, round_channels(stage.channels * config.width), b == 0 ? stage.stride : 1), here,
              kBlock);
    }
    tap(x, w["blocks"][s], kBlock);
    // The last map of each resolution: timm's features_only.
    if (s == 6 || kStages[s + 1].stride == 2)
      graph.add_tap("feat/" + std::to_string(pyramid++), x, fbs::Layout::NCHW, kBlock);
  }
  x = batch_norm_act(conv2d(x, w["conv_head"], {.out = head, .kernel = 1, .bias = false}), w["bn2"], relu6);
  graph.add_tap("features", x, fbs::Layout::NCHW, kBlock);
  x = tap(flatten(tap(global_avg_pool(x), w["global_pool.pool"])), w["global_pool"], kBlock);
  classify(x, w["classifier"], options);
}

}  // namespace ferry::mobilenetv2
