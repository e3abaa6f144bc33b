#include "models/vision/segformer/segformer.h"

#include <algorithm>

#include "models/blocks/patch_embed.h"
#include "models/vision/classifier.h"

namespace ferry::segformer {
namespace {

// PyTorch's default, which transformers and the authors' decoder use.
constexpr double kEpsilon = 1e-5;

Config network_of(const ImageOptions& options) {
  return options.config ? from_transformers(*options.config) : config_of(options.variant.architecture);
}

// Settings shared by the blocks of a stage.
struct Stage {
  Tensor map;  // map with the tokens' rows and columns
  int width, heads, reduction, hidden;
  Tensor (*act)(Tensor);
};

// Efficient self-attention: keys and values are of a map reduced by a convolution of stride `reduction`.
Tensor self_attention(Tensor x, const Weights& w, const Stage& s) {
  const Tensor q = linear(x, w["query"], {.out = s.width});
  Tensor from = x;
  if (s.reduction > 1) {
    from = conv2d(to_map(x, s.map), w["sr"], {.out = s.width, .kernel = s.reduction, .stride = s.reduction});
    from = layer_norm(to_tokens(from), w["layer_norm"], kEpsilon);
  }
  const Tensor k = linear(from, w["key"], {.out = s.width}), v = linear(from, w["value"], {.out = s.width});
  return tap(linear(attention(q, k, v, {.heads = s.heads}), w["output"], {.out = s.width}), w);
}

// Mix-FFN: an MLP with a depthwise convolution, which provides position information.
Tensor mix_mlp(Tensor x, const Weights& w, const Stage& s) {
  x = linear(x, w["dense1"], {.out = s.hidden});
  x = conv2d(to_map(x, s.map), w["dwconv"], {.out = s.hidden, .kernel = 3, .padding = 1, .groups = s.hidden});
  x = tap(s.act(to_tokens(x)), w["act"]);
  return tap(linear(x, w["dense2"], {.out = s.width}), w);
}

Tensor block(Tensor x, const Weights& w, const Stage& s) {
  x = x + self_attention(layer_norm(x, w["layer_norm_1"], kEpsilon), w["attention"], s);
  return tap(x + mix_mlp(layer_norm(x, w["layer_norm_2"], kEpsilon), w["mlp"], s), w, kBlock);
}

// Overlapping patch merging, then the blocks of a stage.
Tensor stage(Tensor x, const Weights& w, const Config& c, size_t s) {
  const int width = c.widths[s], patch = c.patches[s];
  const Tensor map =
      conv2d(x, w["patch_embeddings.proj"],
             {.out = width, .kernel = patch, .stride = c.strides[s], .padding = patch / 2, .adapt_input = s == 0});
  x = tap(layer_norm(to_tokens(map), w["patch_embeddings.layer_norm"], kEpsilon), w["patch_embeddings"]);
  const int hidden = static_cast<int>(width * c.mlp_ratios[s]);
  const Stage shared{map, width, c.heads[s], c.reductions[s], hidden, c.act};
  for (int b = 0; b < c.depths[s]; ++b) x = block(x, w["blocks"][b], shared);
  x = to_map(tap(layer_norm(x, w["layer_norm"], kEpsilon), w["layer_norm"], kBlock), map);
  w.graph().add_tap("feat/" + std::to_string(s), x, fbs::Layout::NCHW, false);
  return x;
}

// The all-MLP decoder: every stage's map at the size of the first, fused per position.
void decode_head(const std::vector<Tensor>& maps, const Weights& w, const Config& c, const ImageOptions& options) {
  std::vector<Tensor> all;
  for (size_t s = maps.size(); s-- > 0;) {
    Tensor x = linear(to_tokens(maps[s]), w["linear_c"][static_cast<int>(s)], {.out = c.decoder});
    x = to_map(x, maps[s]);
    all.push_back(s > 0 ? resize_like(x, maps.front(), fbs::ResizeKind::Bilinear) : x);
  }
  Tensor x = all.size() > 1 ? concat(all) : all.front();
  x = conv2d(x, w["linear_fuse"], {.out = c.decoder, .kernel = 1, .bias = false});
  x = tap(relu(batch_norm(x, w["batch_norm"], kEpsilon)), w["activation"]);
  const Tensor logits = conv2d(tap(x, w["dropout"]), w["classifier"], {.kernel = 1});
  check_classes(channels(logits), w["classifier"], options);
  Graph& graph = w.graph();
  graph.add_output("logits", tap(logits, w, kBlock), fbs::Layout::NCHW);
  graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
  graph.table.postprocess->task = fbs::Task::SemanticSegmentation;
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  const Config c = network_of(options);
  Tensor x = image_input(graph, options);
  std::vector<Tensor> maps;
  for (size_t s = 0; s < c.widths.size(); ++s) maps.push_back(x = stage(x, w["stages"][static_cast<int>(s)], c, s));
  if (c.head == Head::Segmentation && options.num_classes != 0) return decode_head(maps, w["decode_head"], c, options);
  w["decode_head"].discard();
  classify(flatten(global_avg_pool(x)), w["classifier"], options);
  add_last_hidden_state(x, fbs::Layout::NCHW, options);
}

}  // namespace ferry::segformer
