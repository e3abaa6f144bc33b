// Attention within windows of a map, as Swin, TinyViT and CoAtNet use it.
#pragma once

#include <vector>

#include "converter/graph/ops.h"

namespace ferry {

// A linear layer or 1x1 convolution `w` whose outputs are q, k and v (each of `width`) of the first head, then those of
// the second...: here all heads' q, then all k, all v. Its tap has the order of the checkpoint.
Tensor qkv_by_heads(Tensor x, const Weights& w, int heads, int width);

// What a table says about two places of a window of height x width, for each head: [1,heads,L,L] with L = height *
// width, to be added to attention's scores. The table is [(2*height-1) * (2*width-1), heads], a row for each difference
// of rows and columns (query's minus key's, counted from the most negative).
Tensor relative_position_bias(Graph& graph, const std::vector<double>& table, int heads, int height, int width);
// The table is learned: `w("relative_position_bias_table")`.
Tensor relative_position_bias(const Weights& w, int heads, int height, int width);

// Which places of a shifted window may see each other: [windows,1,L,L], 0 where both come from one side of the map's
// seam and -100 elsewhere. Windows are counted as window_partition counts them.
Tensor shifted_window_mask(Graph& graph, int map_h, int map_w, int window_h, int window_w, int shift_h, int shift_w);

// The softmax that attention() computes inside: [N,heads,L,S]. For taps: release blobs do not compute it.
Tensor attention_weights(Tensor q, Tensor k, const AttentionOptions& options, const std::vector<Tensor>& biases);

}  // namespace ferry
