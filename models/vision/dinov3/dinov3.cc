#include "models/vision/dinov3/dinov3.h"

#include <cmath>
#include <numbers>

#include "converter/graph/elementary.h"
#include "models/blocks/attention.h"
#include "models/blocks/mlp.h"
#include "models/blocks/patch_embed.h"
#include "models/blocks/position_embedding.h"
#include "models/vision/classifier.h"

namespace ferry::dinov3 {
namespace {

// The class token and the registers.
int prefix_of(const Config& config) { return 1 + config.registers; }

Config network_of(const ImageOptions& options) {
  return options.config ? from_transformers(*options.config) : config_of(options.variant.architecture);
}

// Wavelengths of the rotary embedding along one axis, with coordinates in -1..1. The authors' checkpoints store them,
// rounded to bfloat16.
std::vector<double> periods(const Weights& w, int count, double theta) {
  if (w.has("periods")) return w.values("periods", count);
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(std::pow(theta, static_cast<double>(i) / count));
  return out;
}

// n,head/4 for the n positions along an axis of the map, of coordinates from -1 to 1.
Tensor angles(Tensor map, int dim, Tensor frequencies) {
  const Tensor positions = positions_along(map, dim);
  const Tensor share = binary(fbs::BinaryKind::Div, positions + 0.5, count_of(positions));
  return (share * 2.0 + -1.0) * frequencies;
}

// For the patches of `map` at run time. The first half of a head's channels has the angles of the row, then of the
// column; the second half repeats them. The prefix tokens are not rotated.
RotaryTable rotary(const Weights& w, Tensor map, const Config& config) {
  const int head = config.width / config.heads, prefix = prefix_of(config), quarter = head / 4;
  std::vector<double> of_coordinates;
  for (const double wavelength : periods(w, quarter, config.theta))
    of_coordinates.push_back(2 * std::numbers::pi / wavelength);
  const Tensor frequencies = w.graph().add_constant("rope.frequencies", Shape{1, quarter}, std::move(of_coordinates));
  const Tensor rows = reshape(angles(map, 1, frequencies), {-1, 1, quarter});
  const Tensor columns = reshape(angles(map, 2, frequencies), {1, -1, quarter});
  const Tensor of_row = rows + columns * 0.0, of_column = rows * 0.0 + columns;
  const Tensor all = reshape(concat({of_row, of_column, of_row, of_column}, 2), {-1, head});
  const auto after_prefix = [&](fbs::UnaryKind function, double of_prefix) {
    std::vector<double> first(static_cast<size_t>(prefix * head), of_prefix);
    return concat({w.graph().add_constant("rope.prefix", Shape{prefix, head}, std::move(first)), unary(all, function)},
                  0);
  };
  return {.cos = after_prefix(fbs::UnaryKind::Cos, 1), .sin = after_prefix(fbs::UnaryKind::Sin, 0)};
}

Tensor block(Tensor x, const Weights& w, const Config& config, const RotaryTable& rotary) {
  using Bias = SelfAttentionOptions::Bias;
  const auto scale = [&](Tensor y, const Weights& gamma) { return tap(y * gamma.parameter({config.width}), gamma); };
  Tensor y = layer_norm(x, w["norm1"], config.epsilon);
  y = self_attention(y, w["attn"],
                     {.heads = config.heads,
                      .bias = config.qkv_bias ? Bias::QueryValue : Bias::None,
                      .each = config.biases,
                      .epsilon = config.epsilon,
                      .rotary = &rotary});
  x = x + scale(y, w["gamma_1"]);
  y = layer_norm(x, w["norm2"], config.epsilon);
  const MlpOptions options = {.hidden = config.hidden, .act = config.act, .bias = config.mlp_bias};
  y = config.gated ? swiglu(y, w["mlp"], options) : mlp(y, w["mlp"], options);
  return tap(x + scale(y, w["gamma_2"]), w, kBlock);
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  build(graph, w, options, network_of(options));
}

void build(Graph& graph, const Weights& w, const ImageOptions& options, const Config& config) {
  const int width = config.width, prefix = prefix_of(config);
  w["mask_token"].discard();  // masks patches in training
  const Tensor map = patch_map(image_input(graph, options), w["patch_embed"], {.out = width, .patch = config.patch});
  const RotaryTable table = rotary(w["rope"], map, config);
  tap(slice(table.cos, 0, prefix, -1), w["rope"]);

  Tensor x = to_tokens(tap(map, w["patch_embed"].channels_last()));
  Tensor tokens = w["cls_token"].parameter({1, 1, width});
  if (config.registers > 0)
    tokens = concat({tokens, w["reg_token"].parameter({1, config.registers, width})}, 1);
  else
    w["reg_token"].discard();
  x = concat({slice(x, 1, 0, 1) * 0.0 + tokens, x}, 1);  // for any number of samples and patches
  x = tap(tap(x, w["pos_drop"], kBlock), w["norm_pre"]);
  const auto patches = [&](Tensor all) { return to_map(slice(all, 1, prefix, -1), map); };
  for (int b = 0; b < config.depth; ++b) {
    x = block(x, w["blocks"][b], config, table);
    // timm's features_only: the last three blocks.
    if (const int level = b - (config.depth - 3); level >= 0)
      graph.add_tap("feat/" + std::to_string(level), patches(x), fbs::Layout::NCHW, false);
  }
  x = layer_norm(x, w["norm"], config.epsilon);
  tap(x, w["norm"], kBlock);
  graph.add_tap("features", x, fbs::Layout::Same, kBlock);
  const Tensor pooled = config.class_pool ? reshape(slice(x, 1, 0, 1), {0, -1}) : flatten(global_avg_pool(patches(x)));
  classify(tap(pooled, w["fc_norm"]), w["head"], options);
  if (config.class_pool) graph.add_output("last_hidden_state", x, fbs::Layout::Same);
}

}  // namespace ferry::dinov3
