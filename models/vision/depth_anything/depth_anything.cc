#include "models/vision/depth_anything/depth_anything.h"

#include <algorithm>
#include <cmath>

#include "models/blocks/attention.h"
#include "models/blocks/mlp.h"
#include "models/blocks/patch_embed.h"
#include "models/blocks/position_embedding.h"
#include "models/vision/classifier.h"

namespace ferry::depth_anything {
namespace {

Config network_of(const ImageOptions& options) {
  return options.config ? from_transformers(*options.config) : config_of(options.variant.architecture);
}

// The side of the square patch grid of the position table, without the class token; 0 if the table has another shape.
int side_of(const Weights& table) {
  const Shape stored = table.stored_shape("");
  const int position_count = stored.rank == 3 ? stored[1] - 1 : 0;
  const int side = static_cast<int>(std::lround(std::sqrt(std::max(position_count, 0))));
  return side * side == position_count ? side : 0;
}

// Position embeddings for the grid of `map` at run time, after the class token with its own.
Tensor positions(const Weights& w, Tensor map, Tensor class_token, const Config& c) {
  const int side = side_of(w), width = channels(map);
  if (side == 0)
    fail("'%s' is %s: expected positions of a class token and of a square grid", w.name().c_str(),
         to_string(w.stored_shape("")).c_str());
  const Tensor table = w.parameter({1, 1 + side * side, width});
  const Tensor grid = to_map(slice(table, 1, 1, side * side), Grid{side, side});
  return concat({slice(table, 1, 0, 1) + class_token, positions_like(grid, map, c.position_offset)}, 1);
}

Tensor embed(Tensor map, const Weights& w, const Config& c) {
  w["mask_token"].discard();  // masks patches in training
  const Tensor embedding = positions(w["pos_embed"], map, w["cls_token"].parameter({1, 1, c.width}), c);
  fbs::PadT one_before;
  one_before.before = {0, 1, 0};
  one_before.after = {0, 0, 0};
  const Tensor tokens = tap(to_tokens(map), w["patch_embed"]);
  return tap(w.graph().add_op("", one_before, {tokens}) + embedding, w["pos_drop"], kBlock);
}

Tensor block(Tensor x, const Weights& w, const Config& c) {
  using Bias = SelfAttentionOptions::Bias;
  const auto scale = [&](Tensor y, const Weights& ls) { return tap(y * ls["gamma"].parameter({c.width}), ls); };
  Tensor y = layer_norm(x, w["norm1"], c.epsilon);
  y = self_attention(y, w["attn"], {.heads = c.heads, .bias = c.qkv_bias ? Bias::QueryKeyValue : Bias::None});
  x = x + scale(y, w["ls1"]);
  y = layer_norm(x, w["norm2"], c.epsilon);
  y = c.swiglu ? swiglu_packed(y, w["mlp"], c.hidden) : mlp(y, w["mlp"], {.hidden = c.hidden, .act = c.act});
  return tap(x + scale(y, w["ls2"]), w, kBlock);
}

// Returns the tokens of each level.
std::vector<Tensor> backbone(Tensor map, const Weights& w, const Config& c) {
  Tensor x = embed(map, w, c);
  std::vector<Tensor> after = {x}, levels;
  for (int b = 0; b < c.depth; ++b) after.push_back(x = block(x, w["blocks"][b], c));
  for (const int level : c.levels) levels.push_back(after[static_cast<size_t>(level)]);
  if (!c.norm) {
    w["norm"].discard();
    return levels;
  }
  // One norm shared by all levels, which are concatenated.
  const Shape width{c.width};
  const Tensor weight = w["norm"]("weight", width), bias = w["norm"]("bias", width);
  fbs::LayerNormT params;
  params.epsilon = static_cast<float>(c.epsilon);
  for (size_t i = 0; i < levels.size(); ++i) {
    levels[i] = w.graph().add_op("", params, {levels[i], weight, bias});
    tap(levels[i], i == 0 ? w["norm"] : w["norm_of"][static_cast<int>(i)]);
  }
  return levels;
}

// Reassembles tokens to a map of the level's size.
Tensor reassemble(Tensor x, const Weights& w, int out, double factor) {
  x = conv2d(x, w["projection"], {.out = out, .kernel = 1});
  const int scale = static_cast<int>(factor), stride = static_cast<int>(1 / factor);
  if (factor > 1)
    x = conv_transpose2d(x, w["resize"], {.out = out, .kernel = scale, .stride = scale});
  else if (factor < 1)
    x = conv2d(x, w["resize"], {.out = out, .kernel = 3, .stride = stride, .padding = 1});
  else
    x = tap(x, w["resize"]);
  return tap(x, w);
}

Tensor residual(Tensor x, const Weights& w) {
  const int width = channels(x);
  Tensor y = x;
  for (const char* i : {"1", "2"}) {
    y = tap(relu(y), w[std::string("activation") + i]);
    y = conv2d(y, w[std::string("convolution") + i], {.out = width, .kernel = 3, .padding = 1});
  }
  return tap(y + x, w);
}

// Feature fusion. `x` is the output of the deeper level, null at the deepest one. `next` is the following level, null
// at the last one, whose size is doubled.
Tensor fuse(const Tensor* x, Tensor level, const Tensor* next, const Weights& w) {
  if (!x) w["residual_layer1"].discard();
  Tensor y = residual(x ? *x + residual(level, w["residual_layer1"]) : level, w["residual_layer2"]);
  y = next ? resize_like(y, *next, fbs::ResizeKind::Bilinear, true) : resize(y, fbs::ResizeKind::Bilinear, 2, true);
  return tap(conv2d(y, w["projection"], {.out = channels(y), .kernel = 1}), w, kBlock);
}

// Returns the fused maps, deepest level first.
std::vector<Tensor> neck(const std::vector<Tensor>& tokens, Tensor map, const Weights& w, const Config& c) {
  std::vector<Tensor> levels, fused;
  const int count = static_cast<int>(tokens.size());
  for (int i = 0; i < count; ++i) {
    const size_t index = static_cast<size_t>(i);
    Tensor x = to_map(slice(tokens[index], 1, 1, -1), map);
    x = reassemble(x, w["reassemble_stage.layers"][i], c.neck[index], c.factors[index]);
    if (i == 0) tap(x, w["reassemble_stage"]);
    levels.push_back(conv2d(x, w["convs"][i], {.out = c.fusion, .kernel = 3, .padding = 1, .bias = false}));
  }
  std::reverse(levels.begin(), levels.end());
  for (int i = 0; i < count; ++i) {
    const size_t index = static_cast<size_t>(i);
    fused.push_back(fuse(i > 0 ? &fused.back() : nullptr, levels[index], i + 1 < count ? &levels[index + 1] : nullptr,
                         w["fusion_stage.layers"][i]));
  }
  tap(tap(fused.front(), w["fusion_stage"]), w);
  return fused;
}

// N,H,W at the size of `image`.
Tensor head(Tensor x, Tensor image, const Weights& w, const Config& c) {
  x = conv2d(x, w["conv1"], {.out = c.fusion / 2, .kernel = 3, .padding = 1});
  x = resize_like(x, image, fbs::ResizeKind::Bilinear, true);
  x = tap(relu(conv2d(x, w["conv2"], {.out = c.head, .kernel = 3, .padding = 1})), w["activation1"]);
  x = conv2d(x, w["conv3"], {.out = 1, .kernel = 1});
  x = tap(c.metric ? sigmoid(x) : relu(x), w["activation2"]);
  if (c.maximum != 1) x = x * c.maximum;
  return tap(reshape(x, {0, 0, -1}), w);
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  build(graph, w, options, network_of(options));
}

void build(Graph& graph, const Weights& w, const ImageOptions& options, const Config& c) {
  const std::string name = options.variant.name();
  if (options.num_classes.value_or(0) > 0) fail("%s has no classes, so --num-classes does not apply", name.c_str());
  const Tensor image = image_input(graph, options);
  const Tensor map = patch_map(image, w["backbone.patch_embed"], {.out = c.width, .patch = c.patch});
  const std::vector<Tensor> fused = neck(backbone(map, w["backbone"], c), map, w["neck"], c);
  graph.add_output("predicted_depth", head(fused[static_cast<size_t>(c.head_level)], image, w["head"], c),
                   fbs::Layout::Same);
  graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
  graph.table.postprocess->task = fbs::Task::Depth;
  fbs::DepthT depth;
  depth.metric = c.metric;
  depth.maximum = c.metric ? static_cast<float>(c.maximum) : 0;
  graph.table.postprocess->params.Set(depth);
}

std::optional<Settings::Size> stored_size(const Weights& w, const ImageOptions& options) {
  const int side = side_of(w["backbone.pos_embed"]) * network_of(options).patch;
  if (side == 0) return {};
  return Settings::Size{side, side};
}

}  // namespace ferry::depth_anything
