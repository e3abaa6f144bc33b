// CoAtNet (Dai et al., arXiv:2106.04803) with timm's module names: two stages of MBConv blocks with
// squeeze-and-excitation, then two of attention over the whole map with relative position bias.
#pragma once

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::coatnet {

enum class Positions { Table, Mlp };  // a learned table, or an MLP of log-coordinates
enum class Pool { Average2, Max3 };   // 2x2, or 3x3 with padding 1; both have stride 2

// Settings of timm's CoAtNets.
struct Config {
  const char* architecture;
  int widths[4];
  int depths[4];
  int stem[2];
  // MBConv blocks.
  Tensor (*act)(Tensor) = silu;
  Tensor (*squeeze_act)(Tensor) = silu;
  bool expand_output = false;  // expansion is relative to the output's channels instead of the input's
  bool pre_norm_act = false;
  bool conv_bias = false;  // of the last convolution and the shortcut
  // average pooling before the first convolution, instead of stride 2 in the depthwise one
  bool stride_in_pool = false;
  bool squeeze_early = false;  // squeeze-and-excitation before the second norm
  // Attention.
  bool expand_first = false;  // queries, keys and values have the output's channels instead of the input's
  bool shortcut_bias = true;
  bool batch_norm = false;  // instead of layer normalization
  bool layer_scale = false;
  Positions positions = Positions::Table;
  int positions_hidden = 512;
  Pool pool = Pool::Average2;
  int head_hidden = 0;  // channels of a hidden layer with tanh before the classifier; 0: none
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::coatnet
