#include "models/blocks/tiny_vit.h"

#include <cstdlib>

#include "models/blocks/mlp.h"
#include "models/blocks/patch_embed.h"
#include "models/blocks/window_attention.h"

namespace ferry {
namespace {

Tensor conv_norm(Tensor x, const Weights& w, Conv2dOptions options) {
  options.padding = options.kernel / 2;
  options.bias = false;
  return tap(batch_norm(conv2d(x, w["conv"], options), w["bn"]), w);
}

// Attention biases [1,heads,L,L]: one per head and per pair of absolute row and column offsets.
Tensor attention_biases(const Weights& w, int heads, int side) {
  const int positions = side * side;
  const std::vector<double> table = w.graph().values(w("attention_biases", {heads, positions}).id);
  std::vector<double> bias;
  bias.reserve(static_cast<size_t>(heads * positions) * static_cast<size_t>(positions));
  for (int head = 0; head < heads; ++head)
    for (int query = 0; query < positions; ++query)
      for (int key = 0; key < positions; ++key) {
        const int rows = std::abs(query / side - key / side), columns = std::abs(query % side - key % side);
        bias.push_back(table[static_cast<size_t>(head * positions + rows * side + columns)]);
      }
  return w.graph().add_constant(w.name() + ".bias", Shape{1, heads, positions, positions}, std::move(bias));
}

Tensor self_attention(Tensor x, const Weights& w, int heads, int side) {
  const int width = channels(x);
  const Tensor qkv = qkv_by_heads(layer_norm(x, w["norm"]), w["qkv"], heads, width);
  const Tensor q = slice(qkv, -1, 0, width), k = slice(qkv, -1, width, width), v = slice(qkv, -1, 2 * width, width);
  w["attention_bias_idxs"].discard();  // index of the offset of each two positions
  const Tensor y = attention(q, k, v, {.heads = heads}, {attention_biases(w, heads, side)});
  return tap(linear(y, w["proj"], {.out = width}), w);
}

}  // namespace

Tensor tiny_vit_stem(Tensor image, const Weights& w, int width) {
  Tensor x = conv_norm(image, w["conv1"], {.out = width / 2, .kernel = 3, .stride = 2, .adapt_input = true});
  x = conv_norm(tap(gelu(x), w["act"]), w["conv2"], {.out = width, .kernel = 3, .stride = 2});
  return tap(x, w, kBlock);
}

Tensor tiny_vit_convolution(Tensor x, const Weights& w) {
  const int width = channels(x), expanded = 4 * width;
  Tensor y = tap(gelu(conv_norm(x, w["conv1"], {.out = expanded, .kernel = 1})), w["act1"]);
  y = tap(gelu(conv_norm(y, w["conv2"], {.out = expanded, .kernel = 3, .groups = expanded})), w["act2"]);
  y = conv_norm(y, w["conv3"], {.out = width, .kernel = 1});
  return tap(tap(gelu(y + x), w["act3"]), w, kBlock);
}

Tensor tiny_vit_merging(Tensor x, const Weights& w, int out, int stride) {
  x = tap(gelu(conv_norm(x, w["conv1"], {.out = out, .kernel = 1})), w["act1"]);
  x = tap(gelu(conv_norm(x, w["conv2"], {.out = out, .kernel = 3, .stride = stride, .groups = out})), w["act2"]);
  return conv_norm(x, w["conv3"], {.out = out, .kernel = 1});
}

Tensor tiny_vit_block(Tensor x, const Weights& w, int heads, int side) {
  const Shape map = x.shape();
  const int below = (side - map[1] % side) % side, right = (side - map[2] % side) % side;
  const bool padded = below > 0 || right > 0;
  Tensor y = window_partition(padded ? pad2d(x, 0, 0, below, right) : x, side);
  y = window_reverse(self_attention(y, w["attn"], heads, side), side, 0, 0, map[1] + below, map[2] + right);
  if (padded) y = slice(slice(y, 1, 0, map[1]), 2, 0, map[2]);
  x = to_tokens(conv_norm(x + y, w["local_conv"], {.out = map[3], .kernel = 3, .groups = map[3]}));
  const Tensor normal = layer_norm(x, w["mlp.norm"]);
  return x + mlp(normal, w["mlp"], {.hidden = 4 * map[3]});
}

}  // namespace ferry
