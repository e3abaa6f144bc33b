#include <algorithm>
#include <cmath>

#include "models/blocks/position_embedding.h"
#include "models/blocks/tiny_vit.h"
#include "models/vision/sam/parts.h"

namespace ferry::sam {
namespace {

// ---- SAM's own vision transformer

// Position embeddings, 1,H,W,C, for the grid of `x`.
Tensor positions(const Weights& w, Tensor x) {
  const Shape stored = w.stored_shape("");
  const Shape wanted = {1, x.shape()[1], x.shape()[2], channels(x)};
  const Grid from{stored[1], stored[2]}, to{wanted[1], wanted[2]};
  // identify matches checkpoints by the size of this table, so a trial run accepts the stored size alone.
  if (stored.rank != 4 || from == to || w.trying()) return w.parameter(wanted);
  const Tensor table = w.parameter({1, from.height, from.width, wanted[3]});
  Graph& graph = w.graph();
  return graph.add_constant(graph.at(table.id).name, wanted,
                            resample_bicubic(graph.values(table.id), wanted[3], from, to));
}

// Relative position embeddings [side,side,D] for each query and key position, to be multiplied with the query. The
// table has one row per offset, ascending; for another side it is resampled linearly. The result is divided by `scale`,
// by which attention multiplies scores.
Tensor rel_pos(const Weights& w, const char* leaf, int side, int size, double scale) {
  const Shape stored = w.stored_shape(leaf);
  const Tensor table = w(leaf, {stored.rank == 2 ? stored[0] : 2 * side - 1, size});
  const std::vector<double> rows = w.graph().values(table.id);
  const int from = table.shape()[0], to = 2 * side - 1;
  std::vector<double> out;
  out.reserve(static_cast<size_t>(side * side) * static_cast<size_t>(size));
  for (int query = 0; query < side; ++query) {
    for (int key = 0; key < side; ++key) {
      const double position = std::clamp((query - key + side - 1 + 0.5) * from / to - 0.5, 0.0, from - 1.0);
      const int first = std::min(static_cast<int>(position), from - 1), second = std::min(first + 1, from - 1);
      const double share = position - first;
      for (int c = 0; c < size; ++c) {
        const auto at = [&](int row) { return rows[static_cast<size_t>(row * size + c)]; };
        out.push_back(((1 - share) * at(first) + share * at(second)) / scale);
      }
    }
  }
  return w.graph().add_constant(w.name() + "." + leaf, Shape{side, side, size}, std::move(out));
}

// One-hot rows and columns of the positions: [H*W,1,offset+H+W], preceded by `offset` zero channels.
Tensor own_row_and_column(Graph& graph, Grid grid, int offset) {
  const int width = offset + grid.height + grid.width;
  std::vector<float> out(static_cast<size_t>(grid.size()) * static_cast<size_t>(width), 0.0f);
  for (int position = 0; position < grid.size(); ++position) {
    float* row = &out[static_cast<size_t>(position) * static_cast<size_t>(width)];
    row[offset + position / grid.width] = row[offset + grid.height + position % grid.width] = 1;
  }
  return graph.add_constant("", Shape{grid.size(), 1, width}, std::move(out));
}

// q and k N,H,W,C with extra channels per head: for q its products with the relative positions of rows and columns, for
// k its one-hot row and column. Their product is the attention score plus the relative position bias.
struct QueryKey {
  Tensor q, k;
};
QueryKey with_rel_pos(Tensor q, Tensor k, const Weights& w, int heads, double scale) {
  const Grid grid{q.shape()[1], q.shape()[2]};
  const int size = channels(q) / heads, height = grid.height, width = grid.width;
  const auto by_heads = [&](Tensor x) { return reshape(x, {0, grid.size(), heads, size}); };
  Tensor rows = matmul(reshape(q, {0, height, width * heads, size}), rel_pos(w, "rel_pos_h", height, size, scale),
                       false, /*transpose_b=*/true);
  rows = reshape(rows, {0, grid.size(), heads, height});
  Tensor columns = transpose(reshape(q, {0, height, width, heads, size}), {0, 2, 1, 3, 4});
  columns = matmul(reshape(columns, {0, width, height * heads, size}), rel_pos(w, "rel_pos_w", width, size, scale),
                   false, /*transpose_b=*/true);
  columns = transpose(reshape(columns, {0, width, height, heads, width}), {0, 2, 1, 3, 4});
  columns = reshape(columns, {0, grid.size(), heads, width});
  fbs::PadT more;
  more.before = {0, 0, 0, 0};
  more.after = {0, 0, 0, height + width};
  const Tensor padded = k.graph->add_op("", more, {by_heads(k)});
  return {reshape(concat({by_heads(q), rows, columns}), {0, 0, -1}),
          reshape(padded + own_row_and_column(*k.graph, grid, size), {0, 0, -1})};
}

// Global attention over x N,H,W,C.
Tensor self_attention(Tensor x, const Weights& w, const Config& config) {
  const int width = channels(x), heads = config.heads;
  const double scale = 1 / std::sqrt(static_cast<double>(width / heads));
  const Shape map = x.shape();
  const Tensor qkv = linear(x, w["qkv"], {.out = 3 * width, .bias = config.qkv_bias});
  const Tensor q = slice(qkv, -1, 0, width), k = slice(qkv, -1, width, width);
  const Tensor v = to_tokens(slice(qkv, -1, 2 * width, width));
  const QueryKey both = config.rel_pos ? with_rel_pos(q, k, w, heads, scale) : QueryKey{to_tokens(q), to_tokens(k)};
  const Tensor y = attention(both.q, both.k, v, {.heads = heads, .scale = scale});
  return tap(linear(to_map(y, {map[1], map[2]}), w["proj"], {.out = width}), w);
}

// Window attention; the map is padded with zeros, which take part like other positions.
Tensor window_attention(Tensor x, const Weights& w, const Config& config) {
  const int side = config.window;
  const Shape map = x.shape();
  const int below = (side - map[1] % side) % side, right = (side - map[2] % side) % side;
  const bool padded = below > 0 || right > 0;
  Tensor y = window_partition(padded ? pad2d(x, 0, 0, below, right) : x, side);
  y = to_tokens(self_attention(to_map(y, {side, side}), w, config));
  y = window_reverse(y, side, 0, 0, map[1] + below, map[2] + right);
  return padded ? slice(slice(y, 1, 0, map[1]), 2, 0, map[2]) : y;
}

Tensor block(Tensor x, const Weights& w, const Config& config, bool global) {
  const int width = channels(x);
  const Tensor normal = layer_norm(x, w["norm1"], config.epsilon);
  x = x + (global ? self_attention(normal, w["attn"], config) : window_attention(normal, w["attn"], config));
  const Weights mlp = w["mlp"];
  Tensor y = linear(layer_norm(x, w["norm2"], config.epsilon), mlp["lin1"], {.out = config.hidden});
  y = tap(linear(tap(config.act(y), mlp["act"]), mlp["lin2"], {.out = width}), mlp);
  return tap(x + y, w, kBlock);
}

// ---- both image encoders

Tensor neck(Tensor x, const Weights& w, int out) {
  x = conv2d(x, w[0], {.out = out, .kernel = 1, .bias = false});
  x = conv2d(layer_norm(x, w[1], kMapEpsilon), w[2], {.out = out, .kernel = 3, .padding = 1, .bias = false});
  return tap(layer_norm(x, w[3], kMapEpsilon), w, kBlock);
}

int row_count(const Weights& w, const char* leaf, const char* what) {
  const Shape stored = w.stored_shape(leaf);
  if (stored.rank == 0) fail("the checkpoint has no '%s.%s', which determines %s", w.name().c_str(), leaf, what);
  return stored[0];
}

}  // namespace

bool is_tiny(const Weights& weights) { return weights["image_encoder.patch_embed.conv1.conv"].has("weight"); }

Tensor encode_image(Tensor image, const Weights& weights, const Config& config) {
  const Weights w = weights.channels_last();
  Tensor x = patch_map(image, weights["patch_embed"], {.out = config.width, .patch = config.patch});
  x = tap(x, w["patch_embed"]);
  if (config.positions) x = x + positions(w["pos_embed"], x);
  for (int b = 0; b < config.depth; ++b) {
    const bool global =
        config.window == 0 || std::find(config.global.begin(), config.global.end(), b) != config.global.end();
    x = block(x, w["blocks"][b], config, global);
  }
  return neck(x, weights["neck"], config.embedding);
}

// In published networks, the last stage keeps the map's size, and the table of relative positions covers one window.
Tensor encode_image_tiny(Tensor image, const Weights& w) {
  w["norm_head"].discard();  // classifier of the encoder's pretraining
  w["head"].discard();
  const auto stages = w["stages"];
  constexpr int kStages = 4;
  Tensor x = tiny_vit_stem(image, w["patch_embed"], row_count(w["patch_embed.conv2.conv"], "weight", "its width"));
  for (int b = 0; stages[0]["blocks"][b]["conv1.conv"].has("weight"); ++b)
    x = tiny_vit_convolution(x, stages[0]["blocks"][b]);
  for (int s = 1; s < kStages; ++s) {
    const Weights merging = stages[s]["downsample"];
    const int width = row_count(merging["conv1.conv"], "weight", "a stage's width");
    x = tiny_vit_merging(x, merging, width, s + 1 < kStages ? 2 : 1);
    const Grid grid{x.shape()[1], x.shape()[2]};
    x = tap(to_tokens(x), merging, kBlock);
    for (int b = 0; stages[s]["blocks"][b]["attn.norm"].has("weight"); ++b) {
      const Weights block = stages[s]["blocks"][b];
      const int heads = row_count(block["attn"], "attention_biases", "its heads");
      const int count = block["attn"].stored_shape("attention_biases")[1];
      const int side = static_cast<int>(std::lround(std::sqrt(count)));
      x = tap(tiny_vit_block(to_map(x, grid), block, heads, side), block, kBlock);
    }
    x = to_map(s + 1 < kStages ? x : tap(x, stages[s], kBlock), grid);
  }
  return neck(x, w["neck"], row_count(w["neck"][0], "weight", "the embedding's width"));
}

}  // namespace ferry::sam
