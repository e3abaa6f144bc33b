#include "models/vision/swin/swin.h"

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

// The windows of a stage's even blocks and of its odd ones. An axis that one window covers is not shifted.
Windows even_windows(int side) { return {.side = side, .shift_h = 0, .shift_w = 0, .mask = {}}; }

Windows odd_windows(Tensor map, int side) {
  const Shape shape = map.shape();
  Windows windows = even_windows(side);
  windows.shift_h = shape[1] > side ? side / 2 : 0;
  windows.shift_w = shape[2] > side ? side / 2 : 0;
  if (windows.shifted())
    windows.mask = shifted_window_mask(*map.graph, shape[1], shape[2], side, side, windows.shift_h, windows.shift_w);
  return windows;
}

Tensor window_attention(Tensor x, const Weights& w, const Windows& windows, int heads) {
  const int width = channels(x);
  const auto [q, k, v] = project(x, w, SelfAttentionOptions::Bias::QueryKeyValue);
  std::vector<Tensor> biases = {relative_position_bias(w, heads, windows.side, windows.side)};
  if (windows.shifted()) biases.push_back(windows.mask);
  tap(attention_weights(q, k, {.heads = heads}, biases), w["softmax"]);
  return tap(linear(attention(q, k, v, {.heads = heads}, biases), w["proj"], {.out = width}), w);
}

Tensor block(Tensor x, const Weights& w, const Windows& windows, int heads, double epsilon) {
  const Shape map = x.shape();
  Tensor y = window_partition(layer_norm(x, w["norm1"], epsilon), windows.side, windows.shift_h, windows.shift_w);
  y = window_attention(y, w["attn"], windows, heads);
  y = window_reverse(y, windows.side, windows.shift_h, windows.shift_w, map[1], map[2]);
  w["attn_mask"].discard();
  x = reshape(x + tap(y, w["drop_path1"]), {0, -1, map[3]});
  x = x + tap(mlp(layer_norm(x, w["norm2"], epsilon), w["mlp"], {.hidden = 4 * map[3]}), w["drop_path2"]);
  tap(x, w["tokens"], kBlock);
  return tap(reshape(x, {0, map[1], map[2], map[3]}), w, kBlock);
}

// Four neighbours become one place of 4 * width channels, normalized and reduced to 2 * width. The framework counts the
// four column by column, windows row by row: the weights are reordered instead of the map.
Tensor patch_merging(Tensor x, const Weights& w) {
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
void check_map(Tensor x, int side, int stage, const PictureOptions& options) {
  const Shape map = x.shape();
  if (map[1] % side == 0 && map[2] % side == 0 && (stage == 3 || (map[1] % 2 == 0 && map[2] % 2 == 0))) return;
  fail("input size %dx%d: stage %d gets a map of %dx%d, which windows of %dx%d do not cover exactly", options.height,
       options.width, stage, map[1], map[2], side, side);
}

}  // namespace

void build(Graph& graph, const Weights& w, const PictureOptions& options) {
  const Config& config = config_of(options.variant.architecture);
  const double epsilon = options.variant.layer_norm_eps.value_or(1e-5);  // of blocks and of the last norm
  const Weights embed = w["patch_embed"].channels_last();
  Tensor x = conv2d(picture_input(graph, options), w["patch_embed.proj"],
                    {.out = config.width, .kernel = 4, .stride = 4, .adapt_input = true});
  x = tap(layer_norm(x, embed["norm"]), embed, kBlock);
  for (int s = 0; s < 4; ++s) {
    const Weights stage = w["layers"].channels_last()[s];
    x = s == 0 ? tap(x, stage["downsample"]) : patch_merging(x, stage["downsample"]);
    check_map(x, config.windows[s], s, options);
    const Windows windows[] = {even_windows(config.windows[s]), odd_windows(x, config.windows[s])};
    for (int b = 0; b < config.depths[s]; ++b)
      x = block(x, stage["blocks"][b], windows[b % 2], config.heads << s, epsilon);
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
