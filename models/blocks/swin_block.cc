#include "models/blocks/swin_block.h"

#include <algorithm>

#include "models/blocks/attention.h"
#include "models/blocks/mlp.h"
#include "models/blocks/window_attention.h"

namespace ferry {
namespace {

int round_up(int size, int multiple) { return (size + multiple - 1) / multiple * multiple; }

// Pads x with zeros at the bottom and right to multiples of `side`.
Tensor pad_to(Tensor x, int side) {
  const Shape map = x.shape();
  const int below = round_up(map[1], side) - map[1], right = round_up(map[2], side) - map[2];
  return below == 0 && right == 0 ? x : pad2d(x, 0, 0, below, right);
}

// Removes the padding of pad_to().
Tensor crop(Tensor x, int height, int width) {
  if (x.shape()[1] != height) x = slice(x, 1, 0, height);
  return x.shape()[2] != width ? slice(x, 2, 0, width) : x;
}

Tensor window_attention(Tensor x, const Weights& w, const SwinWindows& windows, int heads, bool biased) {
  const int width = channels(x);
  using enum SelfAttentionOptions::Bias;
  const auto [q, k, v] = project(x, w, biased ? QueryKeyValue : None);
  std::vector<Tensor> biases = {relative_position_bias(w, heads, windows.side, windows.side)};
  if (windows.shifted()) biases.push_back(windows.mask);
  tap(attention_weights(q, k, {.heads = heads}, biases), w["softmax"]);
  return tap(linear(attention(q, k, v, {.heads = heads}, biases), w["proj"], {.out = width}), w);
}

}  // namespace

SwinWindows even_windows(int side) { return {.side = side}; }

SwinWindows odd_windows(Tensor map, int side, WindowShift shift) {
  const Shape shape = map.shape();
  SwinWindows windows = even_windows(side);
  const bool either_covered = std::min(shape[1], shape[2]) <= side;
  const auto shifted = [&](int size) {
    switch (shift) {
      case WindowShift::EachAxis: return size > side;
      case WindowShift::Together: return !either_covered;
      case WindowShift::Always: break;
    }
    return true;
  };
  windows.shift_h = shifted(shape[1]) ? side / 2 : 0;
  windows.shift_w = shifted(shape[2]) ? side / 2 : 0;
  if (windows.shifted())
    windows.mask = shifted_window_mask(*map.graph, round_up(shape[1], side), round_up(shape[2], side), side, side,
                                       windows.shift_h, windows.shift_w);
  return windows;
}

Tensor swin_block(Tensor x, const Weights& w, const SwinWindows& windows, const SwinBlockOptions& o) {
  const Shape map = x.shape();
  Tensor y = pad_to(layer_norm(x, w["norm1"], o.epsilon), windows.side);
  const Shape padded = y.shape();
  y = window_partition(y, windows.side, windows.shift_h, windows.shift_w);
  y = window_attention(y, w["attn"], windows, o.heads, o.qkv_bias);
  y = window_reverse(y, windows.side, windows.shift_h, windows.shift_w, padded[1], padded[2]);
  y = crop(y, map[1], map[2]);
  w["attn_mask"].discard();
  x = reshape(x + tap(y, w["drop_path1"]), {0, -1, map[3]});
  y = mlp(layer_norm(x, w["norm2"], o.epsilon), w["mlp"], {.hidden = o.hidden, .act = o.act});
  x = x + tap(y, w["drop_path2"]);
  tap(x, w["tokens"], kBlock);
  return tap(reshape(x, {0, map[1], map[2], map[3]}), w, kBlock);
}

// The framework orders the four neighbours by column, window_partition by row: the weights are reordered accordingly.
Tensor merge_patches(Tensor x, const Weights& w) {
  x = pad_to(x, 2);
  const Shape map = x.shape();
  const int width = map[3];
  const auto by_rows = [width](Tensor t) {
    return reshape(transpose(reshape(t, {-1, 2, 2, width}), {0, 2, 1, 3}), {-1, 4 * width});
  };
  x = reshape(window_partition(x, 2), {-1, map[1] / 2, map[2] / 2, 4 * width});
  const Weights norm = w["norm"], reduction = w["reduction"];
  const auto vector_by_rows = [&](const char* leaf) {
    return norm.once(std::string(leaf) + " by rows", [&] { return reshape(by_rows(norm(leaf, {4 * width})), {-1}); });
  };
  const Tensor scale = vector_by_rows("weight"), shift = vector_by_rows("bias");
  x = x.graph->add_op(norm.name(), fbs::LayerNormT{}, {x, scale, shift});
  const Tensor weight = reduction.once("weight by rows", [&] {
    return by_rows(reduction.matrix({2 * width, 4 * width}));
  });
  return tap(tap(x.graph->add_op(reduction.name(), fbs::LinearT{}, {x, weight}), reduction), w);
}

}  // namespace ferry
