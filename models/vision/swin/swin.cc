#include "models/vision/swin/swin.h"

#include <algorithm>

#include "models/blocks/attention.h"
#include "models/blocks/mlp.h"
#include "models/blocks/patch_embed.h"
#include "models/blocks/window_attention.h"
#include "models/vision/classifier.h"

namespace ferry::swin {
namespace {

// Of one block: windows that the map is cut into after it was rolled by the shift.
struct Windows {
  int side, shift_h, shift_w;
  Tensor mask;  // unused without a shift
  bool shifted() const { return shift_h > 0 || shift_w > 0; }
};

int round_up(int size, int multiple) { return (size + multiple - 1) / multiple * multiple; }

// Zeros below and to the right of x, up to multiples of `side`.
Tensor pad_to(Tensor x, int side) {
  const Shape map = x.shape();
  const int below = round_up(map[1], side) - map[1], right = round_up(map[2], side) - map[2];
  return below == 0 && right == 0 ? x : pad2d(x, 0, 0, below, right);
}

// What pad_to() added is cut off.
Tensor crop(Tensor x, int height, int width) {
  if (x.shape()[1] != height) x = slice(x, 1, 0, height);
  return x.shape()[2] != width ? slice(x, 2, 0, width) : x;
}

// The windows of a stage's even blocks and of its odd ones. An axis that one window covers is not shifted.
Windows even_windows(int side) { return {.side = side, .shift_h = 0, .shift_w = 0, .mask = {}}; }

Windows odd_windows(Tensor map, int side, bool shifted_together) {
  const Shape shape = map.shape();
  Windows windows = even_windows(side);
  const bool covered = shifted_together && std::min(shape[1], shape[2]) <= side;
  windows.shift_h = shape[1] > side && !covered ? side / 2 : 0;
  windows.shift_w = shape[2] > side && !covered ? side / 2 : 0;
  if (windows.shifted())
    windows.mask = shifted_window_mask(*map.graph, round_up(shape[1], side), round_up(shape[2], side), side, side,
                                       windows.shift_h, windows.shift_w);
  return windows;
}

Tensor window_attention(Tensor x, const Weights& w, const Windows& windows, int heads, bool biased) {
  using Bias = SelfAttentionOptions::Bias;
  const int width = channels(x);
  const auto [q, k, v] = project(x, w, biased ? Bias::QueryKeyValue : Bias::None);
  std::vector<Tensor> biases = {relative_position_bias(w, heads, windows.side, windows.side)};
  if (windows.shifted()) biases.push_back(windows.mask);
  tap(attention_weights(q, k, {.heads = heads}, biases), w["softmax"]);
  return tap(linear(attention(q, k, v, {.heads = heads}, biases), w["proj"], {.out = width}), w);
}

Tensor block(Tensor x, const Weights& w, const Config& config, const Windows& windows, int heads, double epsilon) {
  const Shape map = x.shape();
  Tensor y = pad_to(layer_norm(x, w["norm1"], epsilon), windows.side);
  const Shape padded = y.shape();
  y = window_partition(y, windows.side, windows.shift_h, windows.shift_w);
  y = window_attention(y, w["attn"], windows, heads, config.qkv_bias);
  y = window_reverse(y, windows.side, windows.shift_h, windows.shift_w, padded[1], padded[2]);
  y = crop(y, map[1], map[2]);
  w["attn_mask"].discard();
  x = reshape(x + tap(y, w["drop_path1"]), {0, -1, map[3]});
  const MlpOptions options = {.hidden = static_cast<int>(config.mlp_ratio * map[3]), .act = config.act};
  x = x + tap(mlp(layer_norm(x, w["norm2"], epsilon), w["mlp"], options), w["drop_path2"]);
  tap(x, w["tokens"], kBlock);
  return tap(reshape(x, {0, map[1], map[2], map[3]}), w, kBlock);
}

// Four neighbours become one place of 4 * width channels, normalized and reduced to 2 * width. The framework counts the
// four column by column, windows row by row: the weights are reordered instead of the map.
Tensor patch_merging(Tensor x, const Weights& w) {
  x = pad_to(x, 2);
  const Shape map = x.shape();
  const int width = map[3];
  const auto by_rows = [width](Tensor t) {
    return reshape(transpose(reshape(t, {-1, 2, 2, width}), {0, 2, 1, 3}), {-1, 4 * width});
  };
  x = reshape(window_partition(x, 2), {-1, map[1] / 2, map[2] / 2, 4 * width});
  const Weights norm = w["norm"];
  const Tensor scale = reshape(by_rows(norm("weight", {4 * width})), {-1});
  const Tensor shift = reshape(by_rows(norm("bias", {4 * width})), {-1});
  x = x.graph->add_op(norm.name(), fbs::LayerNormT{}, {x, scale, shift});
  const Weights reduction = w["reduction"];
  const Tensor weight = by_rows(reduction.matrix({2 * width, 4 * width}));
  return tap(tap(x.graph->add_op(reduction.name(), fbs::LinearT{}, {x, weight}), reduction), w);
}

// Throws unless windows of `side` cover the map exactly and, but for the last stage, pairs of places do.
void check_map(Tensor x, int side, int stage, const Config& config, const PictureOptions& options) {
  const Shape map = x.shape();
  const bool last = stage + 1 == static_cast<int>(config.depths.size());
  if (config.padded && std::min(map[1], map[2]) < side)
    fail("input size %dx%d: stage %d gets a map of %dx%d, which is smaller than a window of %dx%d", options.height,
         options.width, stage, map[1], map[2], side, side);
  if (config.padded) return;
  if (map[1] % side == 0 && map[2] % side == 0 && (last || (map[1] % 2 == 0 && map[2] % 2 == 0))) return;
  fail("input size %dx%d: stage %d gets a map of %dx%d, which windows of %dx%d do not cover exactly", options.height,
       options.width, stage, map[1], map[2], side, side);
}

}  // namespace

void build(Graph& graph, const Weights& w, const PictureOptions& options) {
  const Config config = options.config ? from_transformers(*options.config) : config_of(options.variant.architecture);
  const double epsilon = options.variant.layer_norm_eps.value_or(1e-5);  // of blocks and of the last norm
  if (options.height % config.patch != 0 || options.width % config.patch != 0)
    fail("input size %dx%d: both sides must be multiples of the patch's, %d", options.height, options.width,
         config.patch);
  const Weights embed = w["patch_embed"].channels_last();
  Tensor x = conv2d(picture_input(graph, options), w["patch_embed.proj"],
                    {.out = config.width, .kernel = config.patch, .stride = config.patch, .adapt_input = true});
  x = tap(layer_norm(x, embed["norm"]), embed, kBlock);
  for (size_t s = 0; s < config.depths.size(); ++s) {
    const int index = static_cast<int>(s), side = config.windows[s];
    const Weights stage = w["layers"].channels_last()[index];
    x = s == 0 ? tap(x, stage["downsample"]) : patch_merging(x, stage["downsample"]);
    check_map(x, side, index, config, options);
    const Windows windows[] = {even_windows(side), odd_windows(x, side, config.padded)};
    for (int b = 0; b < config.depths[s]; ++b)
      x = block(x, stage["blocks"][b], config, windows[b % 2], config.heads[s], epsilon);
    tap(x, stage, kBlock);
    graph.add_tap("feat/" + std::to_string(s), x, fbs::Layout::Same, kBlock);
  }
  x = tap(layer_norm(x, w["norm"].channels_last(), epsilon), w["norm"].channels_last(), kBlock);
  graph.add_tap("features", x, fbs::Layout::Same, kBlock);
  const Tensor pooled = tap(flatten(global_avg_pool(x)), w["head.global_pool"], kBlock);
  classify(pooled, w["head.fc"], options);
  add_last_hidden_state(to_tokens(x), fbs::Layout::Same, options);
}

}  // namespace ferry::swin
