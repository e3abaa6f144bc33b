#include <cmath>

#include "models/vision/sam/parts.h"

namespace ferry::sam {
namespace {

constexpr double kLastEpsilon = 1e-5;  // of the transformer's final norm, independent of the others

// Stored weights of a projection, and its output.
struct Projection {
  Projection(const Weights& w, const char* name, int out, int in)
      : module(w[name]), weight(module.matrix({out, in})), bias(module("bias", {out})) {}
  Tensor operator()(Tensor x) const {
    return tap(x.graph->add_op(module.name(), fbs::LinearT{}, {x, weight, bias}), module);
  }
  Weights module;
  Tensor weight, bias;
};

int length(Tensor x) { return x.shape()[x.shape().rank - 2]; }

// Attention between few tokens and many image positions. The projection reduces the channels that all heads share.
// Multiplying the tokens by the image's projection instead is cheaper than projecting every image position, if there
// are few tokens; the projected image is then computed for taps alone. An image that no prompt has changed is
// projected once for all prompts.
struct TokenImageAttention {
  const Projection &q, &k, &v, &out;
  int heads, size, width;
  bool unchanged;  // the image positions

  Tensor rows(Tensor x, int width_of) const { return reshape(x, {1, -1, width_of}); }
  Tensor by_head(Tensor x) const { return transpose(reshape(x, {1, -1, heads, size}), {0, 2, 1, 3}); }
  // The weights of a projection by head: [1,heads,size,width].
  Tensor weights(Tensor x) const { return reshape(x, {1, heads, size, width}); }
  Tensor scaled(Tensor x) const { return by_head(x) * (1 / std::sqrt(static_cast<double>(size))); }

  // The keys' bias adds the same value to all scores of a query, which softmax cancels.
  Tensor tokens_to_image(Tensor tokens, Tensor keys, Tensor values) const {
    k(keys), v(values);
    const Tensor queries = rows(matmul(scaled(q(tokens)), weights(k.weight)), width);
    const Tensor scores = transpose(matmul(rows(keys, width), queries, false, /*transpose_b=*/true), {0, 2, 1});
    Tensor mixed = reshape(matmul(softmax(scores), rows(values, width)), {1, heads, -1, width});
    mixed = matmul(mixed, weights(v.weight), false, /*transpose_b=*/true);
    return out(rows(transpose(mixed, {0, 2, 1, 3}), heads * size) + v.bias);
  }

  // [1,positions,heads,tokens]
  Tensor image_scores(Tensor image, Tensor key) const {
    const Tensor query = by_head(q(image));
    if (unchanged) return transpose(matmul(query, key, false, /*transpose_b=*/true), {0, 2, 1, 3});
    const Tensor bias = reshape(matmul(key, reshape(q.bias, {1, heads, size, 1})), {1, 1, -1});
    const Tensor projected = rows(matmul(key, weights(q.weight)), width);
    const Tensor scores = matmul(rows(image, width), projected, false, /*transpose_b=*/true) + bias;
    return reshape(scores, {1, length(image), heads, -1});
  }

  // The attention weights of each head sum to 1, so each head adds its share of the last bias.
  Tensor image_to_tokens(Tensor image, Tensor keys, Tensor values) const {
    const Tensor shares = softmax(image_scores(image, scaled(k(keys))));
    Graph& graph = *image.graph;
    std::vector<double> part = graph.values(out.bias.id);
    for (double& value : part) value /= heads;
    Tensor value = matmul(by_head(v(values)), weights(transpose(out.weight, {1, 0})));
    value = rows(value + graph.add_constant("", Shape{width}, std::move(part)), width);
    return tap(matmul(reshape(shares, {1, length(image), -1}), value), out.module);
  }
};

// Tokens are [1,L,C], or [1,1,L,C] with prompt groups.
Tensor attend(Tensor query, Tensor key, Tensor value, const Weights& w, const Config& config, int downsample,
              bool unchanged = false) {
  const int width = channels(query), inner = width / downsample, heads = config.decoder_heads;
  const Projection q(w, "q_proj", inner, width), k(w, "k_proj", inner, width), v(w, "v_proj", inner, width),
      out(w, "out_proj", width, inner);
  const TokenImageAttention cross{q, k, v, out, heads, inner / heads, width, unchanged};
  const auto grouped = [&](Tensor x) { return config.groups ? reshape(x, {1, 1, -1, width}) : x; };
  if (!unchanged && length(query) < length(key) && length(query) * heads < inner)
    return tap(grouped(cross.tokens_to_image(query, key, value)), w);
  if (length(key) < length(query) && length(key) * heads < inner)
    return tap(grouped(cross.image_to_tokens(query, key, value)), w);
  const auto rows = [&](Tensor x) { return config.groups ? reshape(x, {1, -1, inner}) : x; };
  const Tensor values = rows(v(value)), keys = rows(k(key)), queries = rows(q(query));  // fixes the order of evaluation
  const Tensor y = attention(queries, keys, values, {.heads = heads});
  return tap(out(config.groups ? reshape(y, {1, 1, -1, inner}) : y), w);
}

// Two-way attention block: tokens attend to tokens and to the image, the image attends to tokens. Queries and keys have
// their position encodings added each time: the initial tokens, and those of the image.
struct TwoWay {
  Tensor tokens, image;
};
TwoWay two_way_block(const TwoWay& x, const TwoWay& position_encoding, const Weights& w, const Config& config,
                     bool first) {
  const int width = channels(x.tokens);
  const double epsilon = config.decoder_epsilon;
  Tensor tokens = x.tokens;
  if (first) {  // the tokens equal their position encoding
    tokens = attend(tokens, tokens, tokens, w["self_attn"], config, 1);
  } else {
    const Tensor q = tokens + position_encoding.tokens;
    tokens = tokens + attend(q, q, tokens, w["self_attn"], config, 1);
  }
  tokens = layer_norm(tokens, w["norm1"], epsilon);
  const Tensor k = x.image + position_encoding.image;
  tokens = tokens + attend(tokens + position_encoding.tokens, k, x.image, w["cross_attn_token_to_image"], config,
                           config.downsample, /*unchanged=*/first);
  tokens = layer_norm(tokens, w["norm2"], epsilon);
  const Weights mlp = w["mlp"];
  const Tensor hidden =
      tap(config.decoder_act(linear(tokens, mlp["lin1"], {.out = config.decoder_hidden})), mlp["act"]);
  tokens = layer_norm(tokens + tap(linear(hidden, mlp["lin2"], {.out = width}), mlp), w["norm3"], epsilon);
  const Tensor mixed = attend(k, tokens + position_encoding.tokens, tokens, w["cross_attn_image_to_token"], config,
                              config.downsample, /*unchanged=*/first);
  const Tensor image = layer_norm(x.image + mixed, w["norm4"], epsilon);
  return {tap(tokens, w, kBlock), image};
}

TwoWay transformer(const TwoWay& at_first, Tensor position_encoding, const Weights& w, const Config& config) {
  const TwoWay where = {at_first.tokens, position_encoding};
  TwoWay x = at_first;
  for (int layer = 0; layer < config.decoder_depth; ++layer)
    x = two_way_block(x, where, w["layers"][layer], config, layer == 0);
  const Tensor mixed = attend(x.tokens + where.tokens, x.image + where.image, x.image, w["final_attn_token_to_image"],
                              config, config.downsample);
  return {tap(layer_norm(x.tokens + mixed, w["norm_final_attn"], kLastEpsilon), w, kBlock), x.image};
}

// MLP with ReLU. transformers names the first and the last layer differently; the checkpoint determines the number of
// layers.
Tensor layers(Tensor x, const Weights& w, int hidden, int out) {
  const bool named = w["proj_in"].has("weight");
  std::vector<Weights> all;
  if (named) all.push_back(w["proj_in"]);
  for (int i = 0; w["layers"][i].has("weight"); ++i) all.push_back(w["layers"][i]);
  if (named || all.empty()) all.push_back(w[named ? "proj_out" : "layers.0"]);
  for (size_t i = 0; i + 1 < all.size(); ++i) x = relu(linear(x, all[i], {.out = hidden}));
  return tap(linear(x, all.back(), {.out = out}), w);
}

// Upscales a map by 4.
Tensor upscale(Tensor x, const Weights& w, int width) {
  x = conv_transpose2d(x, w[0], {.out = width / 4, .kernel = 2, .stride = 2});
  x = tap(gelu(layer_norm(x, w[1], kMapEpsilon)), w[2]);
  x = conv_transpose2d(x, w[3], {.out = width / 8, .kernel = 2, .stride = 2});
  return tap(tap(gelu(x), w[4]), w);
}

}  // namespace

Masks decode_masks(Tensor embedding, const Prompt& prompt, const Weights& w, const Config& config) {
  const Weights rows = w.channels_last();  // tokens of rank 4, not maps
  const int width = config.embedding, masks = config.masks;
  const Grid grid{embedding.shape()[1], embedding.shape()[2]};
  const auto grouped = [&](Tensor tokens) { return config.groups ? reshape(tokens, {1, 1, -1, width}) : tokens; };
  const Tensor own = concat({w["iou_token"]("weight", {1, width}), w["mask_tokens"]("weight", {masks, width})}, 0);
  const Tensor tokens = concat({reshape(own, {1, 1 + masks, width}), prompt.sparse}, 1);
  const Tensor image = to_tokens(embedding + prompt.dense);
  const TwoWay out =
      transformer({grouped(tokens), grouped(image)}, grouped(prompt.position_encoding), rows["transformer"], config);

  // Hypernetwork: each mask token becomes weights of the map's channels.
  const Tensor map = upscale(to_map(reshape(out.image, {1, -1, width}), grid), w["output_upscaling"], width);
  const auto token = [&](int index) {
    const Tensor one = slice(out.tokens, -2, index, 1);
    return config.groups ? reshape(one, {1, 1, width}) : reshape(one, {1, width});
  };
  std::vector<Tensor> weights;
  for (int mask = 0; mask < masks; ++mask) {
    const Tensor y = layers(token(1 + mask), rows["output_hypernetworks_mlps"][mask], width, channels(map));
    weights.push_back(reshape(y, {1, 1, -1}));
  }
  const Tensor logits = matmul(to_tokens(map), concat(weights, 1), false, /*transpose_b=*/true);
  const Tensor qualities = layers(token(0), rows["iou_prediction_head"], config.quality_hidden, masks);
  return {to_map(logits, {4 * grid.height, 4 * grid.width}), reshape(qualities, {1, masks})};
}

}  // namespace ferry::sam
