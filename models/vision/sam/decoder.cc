#include "models/vision/sam/parts.h"

namespace ferry::sam {
namespace {

constexpr double kMapEpsilon = 1e-6;   // of normalization over a map's channels
constexpr double kLastEpsilon = 1e-5;  // of the transformer's last one, whatever the others'

// Tokens [1,L,C], or [1,1,L,C] where there are groups of prompts.
Tensor attend(Tensor q, Tensor k, Tensor v, const Weights& w, const Config& config, int downsample) {
  const int width = channels(q), inner = width / downsample;
  const auto project = [&](Tensor x, const char* name) {
    x = linear(x, w[name], {.out = inner});
    return config.groups ? reshape(x, {1, -1, inner}) : x;
  };
  Tensor y =
      attention(project(q, "q_proj"), project(k, "k_proj"), project(v, "v_proj"), {.heads = config.decoder_heads});
  if (config.groups) y = reshape(y, {1, 1, -1, inner});
  return tap(linear(y, w["out_proj"], {.out = width}), w);
}

// Tokens see each other and the picture, and the picture sees the tokens. To queries and keys is added, each time, what
// says where they are: the tokens as they were at first, and the picture's places.
struct TwoWay {
  Tensor tokens, picture;
};
TwoWay two_way_block(const TwoWay& x, const TwoWay& places, const Weights& w, const Config& config, bool first) {
  const int width = channels(x.tokens);
  const double epsilon = config.decoder_epsilon;
  Tensor tokens = x.tokens;
  if (first) {  // they are still what would be added
    tokens = attend(tokens, tokens, tokens, w["self_attn"], config, 1);
  } else {
    const Tensor q = tokens + places.tokens;
    tokens = tokens + attend(q, q, tokens, w["self_attn"], config, 1);
  }
  tokens = layer_norm(tokens, w["norm1"], epsilon);
  const Tensor k = x.picture + places.picture;
  tokens =
      tokens + attend(tokens + places.tokens, k, x.picture, w["cross_attn_token_to_image"], config, config.downsample);
  tokens = layer_norm(tokens, w["norm2"], epsilon);
  const Weights mlp = w["mlp"];
  const Tensor hidden =
      tap(config.decoder_act(linear(tokens, mlp["lin1"], {.out = config.decoder_hidden})), mlp["act"]);
  tokens = layer_norm(tokens + tap(linear(hidden, mlp["lin2"], {.out = width}), mlp), w["norm3"], epsilon);
  const Tensor seen =
      attend(k, tokens + places.tokens, tokens, w["cross_attn_image_to_token"], config, config.downsample);
  const Tensor picture = layer_norm(x.picture + seen, w["norm4"], epsilon);
  return {tap(tokens, w, kBlock), picture};
}

TwoWay transformer(const TwoWay& at_first, Tensor places, const Weights& w, const Config& config) {
  const TwoWay where = {at_first.tokens, places};
  TwoWay x = at_first;
  for (int layer = 0; layer < config.decoder_depth; ++layer)
    x = two_way_block(x, where, w["layers"][layer], config, layer == 0);
  const Tensor seen = attend(x.tokens + where.tokens, x.picture + where.picture, x.picture,
                             w["final_attn_token_to_image"], config, config.downsample);
  return {tap(layer_norm(x.tokens + seen, w["norm_final_attn"], kLastEpsilon), w, kBlock), x.picture};
}

// Linear layers with a relu between. transformers calls the first and the last one by other names; the checkpoint says
// how many there are.
Tensor layers(Tensor x, const Weights& w, int hidden, int out) {
  const bool named = w["proj_in"].has("weight");
  std::vector<Weights> all;
  if (named) all.push_back(w["proj_in"]);
  for (int i = 0; w["layers"][i].has("weight"); ++i) all.push_back(w["layers"][i]);
  if (named || all.empty()) all.push_back(w[named ? "proj_out" : "layers.0"]);
  for (size_t i = 0; i + 1 < all.size(); ++i) x = relu(linear(x, all[i], {.out = hidden}));
  return tap(linear(x, all.back(), {.out = out}), w);
}

// A map of four times the sides.
Tensor upscale(Tensor x, const Weights& w, int width) {
  x = conv_transpose2d(x, w[0], {.out = width / 4, .kernel = 2, .stride = 2});
  x = tap(gelu(layer_norm(x, w[1], kMapEpsilon)), w[2]);
  x = conv_transpose2d(x, w[3], {.out = width / 8, .kernel = 2, .stride = 2});
  return tap(tap(gelu(x), w[4]), w);
}

}  // namespace

Masks decode_masks(Tensor embedding, const Prompt& prompt, const Weights& w, const Config& config) {
  const Weights rows = w.channels_last();  // tokens of rank 4 are no maps
  const int width = config.embedding, masks = config.masks;
  const Grid grid{embedding.shape()[1], embedding.shape()[2]};
  const auto grouped = [&](Tensor tokens) { return config.groups ? reshape(tokens, {1, 1, -1, width}) : tokens; };
  const Tensor own = concat({w["iou_token"]("weight", {1, width}), w["mask_tokens"]("weight", {masks, width})}, 0);
  const Tensor tokens = concat({reshape(own, {1, 1 + masks, width}), prompt.sparse}, 1);
  const Tensor picture = to_tokens(embedding + prompt.dense);
  const TwoWay out =
      transformer({grouped(tokens), grouped(picture)}, grouped(prompt.places), rows["transformer"], config);

  // A mask's token becomes weights for the channels of the map.
  const Tensor map = upscale(to_map(reshape(out.picture, {1, -1, width}), grid), w["output_upscaling"], width);
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
