// Window attention of Swin, TinyViT and CoAtNet.
#pragma once

#include <vector>

#include "converter/graph/ops.h"

namespace ferry {

// A linear layer or 1x1 convolution `w` that stores q, k and v (each of `width`) head by head. The result has all
// heads' q, then k, then v; its tap has the checkpoint's order.
Tensor qkv_by_heads(Tensor x, const Weights& w, int heads, int width);

// Relative position bias [1,heads,L,L] with L = height * width, added to attention's scores. `table` is [(2*height-1) *
// (2*width-1), heads]: one row per offset of rows and columns (query minus key, ascending).
Tensor relative_position_bias(Graph& graph, const std::vector<double>& table, int heads, int height, int width);
// The same from the learned table `w("relative_position_bias_table")`.
Tensor relative_position_bias(const Weights& w, int heads, int height, int width);

// Attention mask of a shifted window [windows,1,L,L]: 0 if both positions come from the same side of the seam, else
// -100. Windows have the order of window_partition.
Tensor shifted_window_mask(Graph& graph, int map_h, int map_w, int window_h, int window_w, int shift_h, int shift_w);

// The softmax inside attention(): [N,heads,L,S]. For taps alone: release blobs do not compute it.
Tensor attention_weights(Tensor q, Tensor k, const AttentionOptions& options, const std::vector<Tensor>& biases);

}  // namespace ferry
