#include "models/vision/swin/swin.h"

#include <algorithm>

#include "models/blocks/patch_embed.h"
#include "models/blocks/swin_block.h"
#include "models/vision/classifier.h"

namespace ferry::swin {
namespace {

// Throws Error unless windows of `side` and, before the last stage, 2x2 merging cover the map exactly.
void check_map(Tensor x, int side, int stage, const Config& config, const ImageOptions& options) {
  const Shape map = x.shape();
  const bool last = stage + 1 == static_cast<int>(config.depths.size());
  if (config.padded && std::min(map[1], map[2]) < side)
    fail("input size %dx%d: stage %d gets a map of %dx%d, smaller than a window of %dx%d", options.height,
         options.width, stage, map[1], map[2], side, side);
  if (config.padded) return;
  if (map[1] % side == 0 && map[2] % side == 0 && (last || (map[1] % 2 == 0 && map[2] % 2 == 0))) return;
  fail("input size %dx%d: stage %d gets a map of %dx%d, which windows of %dx%d do not cover exactly", options.height,
       options.width, stage, map[1], map[2], side, side);
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config config = options.config ? from_transformers(*options.config) : config_of(options.variant.architecture);
  const double epsilon = options.variant.layer_norm_eps.value_or(1e-5);  // of the blocks and the last norm
  if (options.height % config.patch != 0 || options.width % config.patch != 0)
    fail("input size %dx%d: both sides must be multiples of the patch's, %d", options.height, options.width,
         config.patch);
  const Weights embed = w["patch_embed"].channels_last();
  Tensor x = conv2d(image_input(graph, options), w["patch_embed.proj"],
                    {.out = config.width, .kernel = config.patch, .stride = config.patch, .adapt_input = true});
  x = tap(layer_norm(x, embed["norm"]), embed, kBlock);
  for (size_t s = 0; s < config.depths.size(); ++s) {
    const int index = static_cast<int>(s), side = config.windows[s];
    const Weights stage = w["layers"].channels_last()[index];
    x = s == 0 ? tap(x, stage["downsample"]) : merge_patches(x, stage["downsample"]);
    check_map(x, side, index, config, options);
    const WindowShift shift = config.padded ? WindowShift::Together : WindowShift::EachAxis;
    const SwinWindows windows[] = {even_windows(side), odd_windows(x, side, shift)};
    const SwinBlockOptions block = {.heads = config.heads[s],
                                    .hidden = static_cast<int>(config.mlp_ratio * channels(x)),
                                    .qkv_bias = config.qkv_bias,
                                    .act = config.act,
                                    .epsilon = epsilon};
    for (int b = 0; b < config.depths[s]; ++b) x = swin_block(x, stage["blocks"][b], windows[b % 2], block);
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
