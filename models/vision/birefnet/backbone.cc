#include <cmath>

#include "models/blocks/patch_embed.h"
#include "models/blocks/swin_block.h"
#include "models/vision/birefnet/birefnet.h"

namespace ferry::birefnet {
namespace {

// Reads the relative position bias table: one row per offset within a window, one column per head.
Backbone::Stage stored_stage(const Weights& blocks) {
  Backbone::Stage stage = {};
  const auto has_block = [&](int b) {
    return blocks[b]["norm1"].has("weight") || blocks[b]["attn"].has("relative_position_bias_table");
  };
  while (has_block(stage.depth)) ++stage.depth;
  const Weights first = blocks[0]["attn"];
  const Shape table = first.stored_shape("relative_position_bias_table");
  const std::string name = first.name() + ".relative_position_bias_table";
  if (table.rank == 0) fail("the checkpoint has no '%s', which determines windows and heads", name.c_str());
  const int side = static_cast<int>(std::lround(std::sqrt(table[0])));
  if (table.rank != 2 || side * side != table[0] || side % 2 == 0)
    fail("'%s' has shape %s, expected [(2*window-1)^2,heads]", name.c_str(), to_string(table).c_str());
  stage.window = (side + 1) / 2;
  stage.heads = table[1];
  return stage;
}

}  // namespace

std::vector<int> Backbone::depths() const {
  std::vector<int> all;
  for (const Stage& stage : stages) all.push_back(stage.depth);
  return all;
}

Backbone stored_backbone(const Weights& bb) {
  Backbone backbone;
  const Weights embed = bb["patch_embed"]["proj"];
  const Shape patches = embed.stored_shape("weight");
  if (patches.rank == 0) fail("the checkpoint has no '%s.weight', which determines the width", embed.name().c_str());
  backbone.width = patches[0];
  for (int s = 0; s < Backbone::kStages; ++s) {
    Backbone::Stage& stage = backbone.stages[static_cast<size_t>(s)];
    stage = stored_stage(bb["layers"][s]["blocks"]);
    if ((backbone.width << s) % stage.heads != 0)
      fail("'%s' has %d heads for %d channels, which they do not divide", bb["layers"][s].name().c_str(), stage.heads,
           backbone.width << s);
  }
  return backbone;
}

std::vector<Tensor> run_backbone(Tensor image, const Weights& bb, const Backbone& backbone) {
  constexpr int kPatch = Backbone::kPatch, kLast = Backbone::kStages - 1;
  const Weights embed = bb["patch_embed"];
  Tensor x = conv2d(image, embed["proj"], {.out = backbone.width, .kernel = kPatch, .stride = kPatch});
  x = tap(layer_norm(x, embed["norm"]), embed);
  std::vector<Tensor> maps;
  for (int s = 0; s <= kLast; ++s) {
    const Weights stage = bb["layers"][s];
    const Backbone::Stage& sizes = backbone.stages[static_cast<size_t>(s)];
    const SwinWindows windows[] = {even_windows(sizes.window), odd_windows(x, sizes.window, WindowShift::Always)};
    const SwinBlockOptions block = {.heads = sizes.heads, .hidden = 4 * channels(x)};
    for (int b = 0; b < sizes.depth; ++b) x = swin_block(x, stage["blocks"][b].channels_last(), windows[b % 2], block);
    tap(to_tokens(x), stage);
    const Tensor map = layer_norm(x, bb["norm" + std::to_string(s)].channels_last());
    tap(to_tokens(map), bb["norm" + std::to_string(s)]["tokens"]);
    maps.push_back(map);
    if (s == kLast) break;
    x = merge_patches(x, stage["downsample"].channels_last());
    tap(to_tokens(x), stage["downsample"]["tokens"]);
  }
  tap(maps.front(), bb);
  return maps;
}

}  // namespace ferry::birefnet
