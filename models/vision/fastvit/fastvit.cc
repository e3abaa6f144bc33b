#include "models/vision/fastvit/fastvit.h"

#include "models/blocks/squeeze_excite.h"
#include "models/vision/classifier.h"

namespace ferry::fastvit {
namespace {

Tensor conv_norm(Tensor x, const Weights& w, Conv2dOptions o) {
  o.bias = false;
  o.padding = o.kernel / 2;
  return tap(batch_norm(conv2d(x, w["conv"], o), w["bn"]), w);
}

// MobileOne's branches before the activation: a BatchNorm of the input if the shapes allow it, a 1x1 convolution beside
// larger kernels, and the convolution.
Tensor mobile_one_branches(Tensor x, const Weights& w, const Conv2dOptions& o) {
  Tensor sum = conv_norm(x, w["conv_kxk"][0], o);
  Conv2dOptions point = o;
  point.kernel = 1;
  if (o.kernel > 1) sum = conv_norm(x, w["conv_scale"], point) + sum;
  if (o.stride == 1 && channels(x) == o.out) sum = batch_norm(x, w["identity"]) + sum;
  return sum;
}

Tensor mobile_one(Tensor x, const Weights& w, const Conv2dOptions& o) {
  return tap(tap(gelu(mobile_one_branches(x, w, o)), w["act"]), w, kBlock);
}

Tensor layer_scale(Tensor x, const Weights& w) {
  const int width = channels(x);
  return tap(x * reshape(w("gamma", {width, 1, 1}), {width}), w);
}

Tensor rep_mixer(Tensor x, const Weights& w) {
  const int width = channels(x);
  const Weights mixer = w["mixer"], norm = w["norm"];
  const Tensor mixed = tap(mobile_one_branches(x, mixer, {.out = width, .kernel = 3, .groups = width}), mixer);
  const Tensor normed = tap(batch_norm(x, norm["identity"]), norm);
  return tap(x + layer_scale(mixed - normed, w["layer_scale"]), w);
}

Tensor attention(Tensor x, const Weights& w) {
  constexpr int kHead = 32;
  const Shape map = x.shape();
  const int width = map[3];
  const Tensor qkv = linear(reshape(x, {0, -1, width}), w["qkv"], {.out = 3 * width, .bias = false});
  const auto part = [&](int i) { return slice(qkv, 2, i * width, width); };
  x = linear(attention(part(0), part(1), part(2), {.heads = width / kHead}), w["proj"], {.out = width});
  return tap(reshape(x, {0, map[1], map[2], width}), w);
}

Tensor mlp(Tensor x, const Weights& w, int ratio) {
  const int width = channels(x);
  Tensor y = conv_norm(x, w["conv"], {.out = width, .kernel = 7, .groups = width});
  y = tap(gelu(conv2d(y, w["fc1"], {.out = ratio * width, .kernel = 1})), w["act"]);
  return tap(conv2d(y, w["fc2"], {.out = width, .kernel = 1}), w);
}

Tensor rep_mixer_block(Tensor x, const Weights& w, int ratio) {
  x = rep_mixer(x, w["token_mixer"]);
  return x + layer_scale(mlp(x, w["mlp"], ratio), w["layer_scale"]);
}

Tensor attention_block(Tensor x, const Weights& w, int ratio) {
  x = x + layer_scale(attention(batch_norm(x, w["norm"]), w["token_mixer"]), w["layer_scale_1"]);
  return x + layer_scale(mlp(x, w["mlp"], ratio), w["layer_scale_2"]);
}

// Doubles the channels and halves the height and width.
Tensor patch_embed(Tensor x, const Weights& w) {
  const Weights proj = w["proj"];
  Conv2dOptions o = {.out = 2 * channels(x), .kernel = 7, .stride = 2, .groups = channels(x)};
  const Tensor large = conv_norm(x, proj[0]["large_conv"], o);
  o.kernel = 3;
  x = tap(large + conv_norm(x, proj[0]["small_conv"], o), proj[0]);
  x = mobile_one(x, proj[1], {.out = channels(x), .kernel = 1});
  return tap(tap(x, proj), w);
}

Tensor position_encoding(Tensor x, const Weights& w) {
  const int width = channels(x);
  return tap(conv2d(x, w["pos_enc"], {.out = width, .kernel = 7, .padding = 3, .groups = width}) + x, w);
}

}  // namespace

void build(Graph& graph, const Weights& w, const ImageOptions& options) {
  build(graph, w, options, config_of(options.variant.architecture));
}

void build(Graph& graph, const Weights& w, const ImageOptions& options, const Config& config) {
  const Weights stem = w["stem"], final_conv = w["final_conv"];
  const int width = config.width;

  Tensor x = image_input(graph, options);
  x = mobile_one(x, stem[0], {.out = width, .kernel = 3, .stride = 2, .adapt_input = true});
  x = mobile_one(x, stem[1], {.out = width, .kernel = 3, .stride = 2, .groups = width});
  x = mobile_one(x, stem[2], {.out = width, .kernel = 1});
  tap(x, stem, kBlock);
  for (int s = 0; s < 4; ++s) {
    const Weights stage = w["stages"][s];
    const bool attends = config.attention && s == 3;
    if (s > 0) x = patch_embed(x, stage["downsample"]);
    if (attends) x = position_encoding(x, stage["pos_emb"]);
    for (int b = 0; b < config.layers[s]; ++b) {
      const Weights block = stage["blocks"][b];
      x = attends ? attention_block(x, block, config.mlp_ratio) : rep_mixer_block(x, block, config.mlp_ratio);
      tap(x, block, kBlock);
    }
    tap(x, stage, kBlock);
    graph.add_tap("feat/" + std::to_string(s), x, fbs::Layout::NCHW, kBlock);
  }

  const int in = channels(x);
  x = mobile_one_branches(x, final_conv, {.out = 2 * in, .kernel = 3, .groups = in});
  x = squeeze_excite(x, final_conv["se"], {.reduced = in / 8});
  x = tap(tap(gelu(x), final_conv["act"]), final_conv, kBlock);
  graph.add_tap("features", x, fbs::Layout::NCHW, kBlock);
  x = tap(flatten(global_avg_pool(x)), w["head.global_pool"], kBlock);
  classify(x, w["head.fc"], options);
}

}  // namespace ferry::fastvit
