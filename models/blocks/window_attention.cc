#include "models/blocks/window_attention.h"

namespace ferry {

Tensor qkv_by_heads(Tensor x, const Weights& w, int heads, int width) {
  const int in = channels(x), size = width / heads;
  const bool conv = w.stored_shape("weight").rank == 4;
  const Tensor stored = conv ? w.kernel({3 * width, 1, 1, in}) : w.matrix({3 * width, in});
  const Tensor weight = transpose(reshape(stored, {heads, 3, size, in}), {1, 0, 2, 3});
  const Tensor bias = transpose(reshape(w("bias", {3 * width}), {heads, 3, size}), {1, 0, 2});
  const Tensor y =
      x.graph->add_op(w.name(), fbs::LinearT{}, {x, reshape(weight, {3 * width, in}), reshape(bias, {3 * width})});
  // Restores the checkpoint's order for the tap: [...,3,heads,size] to [...,heads,3,size].
  const int rank = x.shape().rank;
  std::vector<int32_t> parts, perm, whole;
  for (int i = 0; i < rank - 1; ++i) {
    parts.push_back(0);
    perm.push_back(i);
    whole.push_back(0);
  }
  parts.insert(parts.end(), {3, heads, size});
  perm.insert(perm.end(), {rank, rank - 1, rank + 1});
  whole.push_back(-1);
  tap(reshape(transpose(reshape(y, parts), perm), whole), w);
  return y;
}

Tensor relative_position_bias(Graph& graph, const std::vector<double>& table, int heads, int height, int width) {
  const int positions = height * width, columns = 2 * width - 1;
  std::vector<double> bias;
  bias.reserve(static_cast<size_t>(heads * positions) * static_cast<size_t>(positions));
  for (int head = 0; head < heads; ++head)
    for (int query = 0; query < positions; ++query)
      for (int key = 0; key < positions; ++key) {
        const int row = query / width - key / width + height - 1;
        const int column = query % width - key % width + width - 1;
        bias.push_back(table[static_cast<size_t>((row * columns + column) * heads + head)]);
      }
  return graph.add_constant("relative_position_bias", Shape{1, heads, positions, positions}, std::move(bias));
}

Tensor relative_position_bias(const Weights& w, int heads, int height, int width) {
  w["relative_position_index"].discard();  // row of the table for each two positions
  return w.once("relative_position_bias", [&] {
    const Tensor table = w("relative_position_bias_table", {(2 * height - 1) * (2 * width - 1), heads});
    return relative_position_bias(w.graph(), w.graph().values(table.id), heads, height, width);
  });
}

Tensor shifted_window_mask(Graph& graph, int map_h, int map_w, int window_h, int window_w, int shift_h, int shift_w) {
  // The last window of a shifted axis contains positions from both ends of the map.
  const auto beyond_seam = [](int at, int size, int shift) { return at >= size - shift; };
  const int positions = window_h * window_w, across = map_w / window_w, windows = map_h / window_h * across;
  std::vector<float> mask;
  mask.reserve(static_cast<size_t>(windows) * static_cast<size_t>(positions) * static_cast<size_t>(positions));
  for (int window = 0; window < windows; ++window) {
    const auto side = [&](int position) {
      const int row = window / across * window_h + position / window_w;
      const int column = window % across * window_w + position % window_w;
      return 2 * beyond_seam(row, map_h, shift_h) + beyond_seam(column, map_w, shift_w);
    };
    for (int query = 0; query < positions; ++query)
      for (int key = 0; key < positions; ++key) mask.push_back(side(query) == side(key) ? 0.0f : -100.0f);
  }
  return graph.add_constant("shifted_window_mask", Shape{windows, 1, positions, positions}, std::move(mask));
}

Tensor attention_weights(Tensor q, Tensor k, const AttentionOptions& options, const std::vector<Tensor>& biases) {
  // Attention whose values are unit vectors, the identity for each head, returns the weights themselves. The zeros have
  // k's batch size.
  Graph& graph = *q.graph;
  const int heads = options.heads, positions = q.shape()[1], keys = k.shape()[1];
  std::vector<float> identity(static_cast<size_t>(keys) * static_cast<size_t>(heads * keys), 0.0f);
  for (int key = 0; key < keys; ++key)
    for (int head = 0; head < heads; ++head) identity[static_cast<size_t>((key * heads + head) * keys + key)] = 1;
  const Tensor v = slice(k, -1, 0, 1) * 0.0 + graph.add_constant("", Shape{keys, heads * keys}, std::move(identity));
  const Tensor weights = attention(q, k, v, options, biases);
  return transpose(reshape(weights, {0, positions, heads, keys}), {0, 2, 1, 3});
}

}  // namespace ferry
