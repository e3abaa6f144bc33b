#include "models/vit/vit.h"

#include "models/blocks/attention.h"
#include "models/blocks/mlp.h"
#include "models/blocks/position_embedding.h"
#include "models/classifier.h"

namespace ferry::vit {
namespace {

class Network {
 public:
  Network(const Config& config, Grid grid) : config_(config), grid_(grid) {}

  // Patches and prefix with their positions.
  Tensor embed(Tensor x, const Weights& w) const {
    const int width = config_.size.width;
    x = to_tokens(patch_map(x, w["patch_embed"], {.out = width, .patch = config_.patch, .bias = !config_.clip}));
    tap(x, w["patch_embed"]);
    const Tensor positions = position_table(w, "pos_embed", width, config_.embed_prefix ? prefix() : 0, grid_);
    if (!config_.embed_prefix) x = x + positions;
    std::vector<Tensor> tokens;
    if (config_.class_token) tokens.push_back(w("cls_token", {1, 1, width}));
    if (config_.registers > 0) tokens.push_back(w("reg_token", {1, config_.registers, width}));
    if (!tokens.empty()) x = prepend_tokens(x, concat(tokens, 1));
    if (config_.embed_prefix) x = x + positions;
    tap(x, w["pos_drop"], kBlock);
    return config_.clip ? layer_norm(x, w["norm_pre"], epsilon()) : tap(x, w["norm_pre"]);
  }

  Tensor block(Tensor x, const Weights& w) const {
    Tensor y = layer_norm(x, w["norm1"], epsilon());
    y = self_attention(y, w["attn"], {.heads = config_.size.heads, .bias = bias(), .epsilon = epsilon()});
    x = x + scale(y, w["ls1"]);
    y = layer_norm(x, w["norm2"], epsilon());
    const int hidden = config_.size.hidden > 0 ? config_.size.hidden : 4 * config_.size.width;
    y = config_.swiglu ? swiglu_packed(y, w["mlp"], hidden)
                       : mlp(y, w["mlp"], {.hidden = hidden, .act = config_.quick_gelu ? quick_gelu : gelu});
    return tap(x + scale(y, w["ls2"]), w, kBlock);
  }

  // The patches as a map.
  Tensor patches(Tensor x) const { return to_map(slice(x, 1, prefix(), grid_.size()), grid_); }

  Tensor norm(Tensor x, const Weights& w) const {
    return config_.pool == Pool::Average ? tap(x, w, kBlock) : tap(layer_norm(x, w, epsilon()), w, kBlock);
  }

  Tensor pool(Tensor x, const Weights& w) const {
    const bool mean = config_.pool != Pool::ClassToken;
    x = mean ? flatten(global_avg_pool(patches(x))) : reshape(slice(x, 1, 0, 1), {0, -1});
    return config_.pool == Pool::Average ? layer_norm(x, w["fc_norm"], epsilon()) : tap(x, w["fc_norm"]);
  }

 private:
  int prefix() const { return config_.registers + (config_.class_token ? 1 : 0); }
  double epsilon() const { return config_.clip ? 1e-5 : 1e-6; }
  SelfAttentionOptions::Bias bias() const {
    return config_.qkv_bias ? SelfAttentionOptions::Bias::QueryKeyValue : SelfAttentionOptions::Bias::None;
  }
  Tensor scale(Tensor x, const Weights& w) const {
    return config_.layer_scale ? tap(x * w("gamma", {config_.size.width}), w) : x;
  }

  const Config& config_;
  const Grid grid_;
};

}  // namespace

void build(Graph& graph, const Weights& w, const BuildOptions& options) {
  build(graph, w, options, config_of(options.variant.architecture));
}

void build(Graph& graph, const Weights& w, const BuildOptions& options, const Config& config) {
  const Network network(config, {options.height / config.patch, options.width / config.patch});
  Tensor x = network.embed(picture_input(graph, options), w);
  for (int b = 0; b < config.size.depth; ++b) {
    x = network.block(x, w["blocks"][b]);
    // timm's features_only: the last three blocks.
    if (const int level = b - (config.size.depth - 3); level >= 0)
      graph.add_tap("feat/" + std::to_string(level), network.patches(x), fbs::Layout::NCHW, false);
  }
  x = network.norm(x, w["norm"]);
  graph.add_tap("features", x, fbs::Layout::Same, kBlock);
  classify(network.pool(x, w), w["head"], options);
}

// timm's names are the canonical ones. Its head runs once for `features` and again for `logits`: two records.
std::span<const Naming> namings() {
  static const Naming table[] = {{.framework = "timm",
                                  .probes = {"patch_embed.proj.weight", "pos_embed", "blocks.0.attn.proj.weight"},
                                  .taps = {{"fc_norm", {"fc_norm", "fc_norm#1"}}}}};
  return table;
}

}  // namespace ferry::vit
