#include "models/vision/vit/vit.h"

#include <algorithm>
#include <cmath>

#include "models/blocks/attention.h"
#include "models/blocks/mlp.h"
#include "models/blocks/position_embedding.h"
#include "models/vision/classifier.h"

namespace ferry::vit {
namespace {

// Number of prefix tokens that have entries in the position table.
int prefix_with_positions(const Config& config) {
  if (config.entries == Entries::All) return config.registers + (config.class_token ? 1 : 0);
  return config.entries == Entries::ClassToken ? 1 : 0;
}

Config network_of(const ImageOptions& options) {
  return options.config ? from_transformers(*options.config) : config_of(options.variant.architecture);
}

class Network {
 public:
  Network(const Config& config, Grid grid, double epsilon) : config_(config), grid_(grid), epsilon_(epsilon) {}

  // Patch and prefix tokens with position embeddings.
  Tensor embed(Tensor x, const Weights& w) const {
    const int width = config_.size.width;
    x = to_tokens(patch_map(x, w["patch_embed"], {.out = width, .patch = config_.patch, .bias = !config_.clip}));
    tap(x, w["patch_embed"]);
    const int entries = prefix_with_positions(config_);
    const Tensor positions = position_table(w["pos_embed"], width, entries, grid_, config_.antialias);
    x = x + (entries > 0 ? slice(positions, 1, entries, grid_.size()) : positions);
    std::vector<Tensor> tokens;
    if (config_.class_token) tokens.push_back(w["cls_token"].parameter({1, 1, width}));
    if (config_.registers > 0) tokens.push_back(w["reg_token"].parameter({1, config_.registers, width}));
    int placed = 0;
    for (Tensor& token : tokens) {
      const int count = token.shape()[1];
      if (placed + count <= entries) token = token + slice(positions, 1, placed, count);
      placed += count;
    }
    if (!tokens.empty()) x = prepend_tokens(x, tokens.size() > 1 ? concat(tokens, 1) : tokens.front());
    tap(x, w["pos_drop"], kBlock);
    return config_.clip ? layer_norm(x, w["norm_pre"], epsilon_) : tap(x, w["norm_pre"]);
  }

  Tensor block(Tensor x, const Weights& w) const {
    Tensor y = layer_norm(x, w["norm1"], epsilon_);
    y = self_attention(y, w["attn"], {.heads = config_.size.heads, .bias = bias(), .epsilon = epsilon_});
    x = x + scale(y, w["ls1"]);
    y = layer_norm(x, w["norm2"], epsilon_);
    const int hidden = config_.size.hidden > 0 ? config_.size.hidden : 4 * config_.size.width;
    y = config_.swiglu ? swiglu_packed(y, w["mlp"], hidden) : mlp(y, w["mlp"], {.hidden = hidden, .act = config_.act});
    return tap(x + scale(y, w["ls2"]), w, kBlock);
  }

  // The patches as a map.
  Tensor patches(Tensor x) const { return to_map(slice(x, 1, prefix(), grid_.size()), grid_); }

  Tensor norm(Tensor x, const Weights& w) const {
    return config_.pool == Pool::Average ? tap(x, w, kBlock) : tap(layer_norm(x, w, epsilon_), w, kBlock);
  }

  Tensor pool(Tensor x, const Weights& w) const {
    const bool mean = config_.pool != Pool::ClassToken;
    x = mean ? flatten(global_avg_pool(patches(x))) : reshape(slice(x, 1, 0, 1), {0, -1});
    return config_.pool == Pool::Average ? layer_norm(x, w["fc_norm"], epsilon_) : tap(x, w["fc_norm"]);
  }

 private:
  int prefix() const { return config_.registers + (config_.class_token ? 1 : 0); }
  SelfAttentionOptions::Bias bias() const {
    return config_.qkv_bias ? SelfAttentionOptions::Bias::QueryKeyValue : SelfAttentionOptions::Bias::None;
  }
  Tensor scale(Tensor x, const Weights& w) const {
    return config_.layer_scale ? tap(x * w["gamma"].parameter({config_.size.width}), w) : x;
  }

  const Config& config_;
  const Grid grid_;
  const double epsilon_;
};

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  build(graph, w, options, network_of(options));
}

void build(Graph& graph, const Weights& w, const ImageOptions& options, const Config& config) {
  const Network network(config, {options.height / config.patch, options.width / config.patch},
                        options.variant.layer_norm_eps.value_or(config.clip ? 1e-5 : 1e-6));
  w["mask_token"].discard();  // masks patches in training
  if (config.registers == 0) w["reg_token"].discard();
  Tensor x = network.embed(image_input(graph, options), w);
  for (int b = 0; b < config.size.depth; ++b) {
    x = network.block(x, w["blocks"][b]);
    // timm's features_only: the last three blocks.
    if (const int level = b - (config.size.depth - 3); level >= 0)
      graph.add_tap("feat/" + std::to_string(level), network.patches(x), fbs::Layout::NCHW, false);
  }
  x = network.norm(x, w["norm"]);
  graph.add_tap("features", x, fbs::Layout::Same, kBlock);
  Tensor pooled = network.pool(x, w);
  if (options.num_classes != 0) {
    if (config.class_and_mean) pooled = concat({pooled, flatten(global_avg_pool(network.patches(x)))}, 1);
    classify(pooled, w["head"], options);
    return;
  }
  if (w["pooler.dense"].has("weight"))
    pooled = tap(config.pooler_act(
                     linear(pooled, w["pooler.dense"], {.out = config.pooler > 0 ? config.pooler : config.size.width})),
                 w["pooler"]);
  classify(pooled, w["head"], options);
  add_last_hidden_state(x, fbs::Layout::Same, options);
}

std::optional<Settings::Size> stored_size(const Weights& w, const ImageOptions& options) {
  const Config config = network_of(options);
  const Shape table = w["pos_embed"].stored_shape("");
  if (table.rank != 3) return {};
  const int places = table[1] - prefix_with_positions(config), patch = config.patch;
  // A grid that is not square needs the requested size.
  if (places == (options.height / patch) * (options.width / patch))
    return Settings::Size{options.height, options.width};
  const int side = static_cast<int>(std::lround(std::sqrt(std::max(places, 0))));
  if (side == 0 || side * side != places) return {};
  return Settings::Size{side * patch, side * patch};
}

}  // namespace ferry::vit
