// CoAtNet (Dai et al., arXiv:2106.04803) as timm builds it, in timm's names: two stages of inverted bottlenecks with
// squeeze-and-excitation, then two of attention over the whole map with relative positions.
#pragma once

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::coatnet {

enum class Positions { Table, Mlp };  // a learned table, or a network of log-coordinates
enum class Pool { Average2, Max3 };   // 2x2, or 3x3 padded by 1; both of stride 2

// The settings in which timm's CoAtNets differ.
struct Config {
  const char* architecture;
  int widths[4];
  int depths[4];
  int stem[2];
  // Inverted bottlenecks.
  Tensor (*act)(Tensor) = silu;
  Tensor (*squeeze_act)(Tensor) = silu;
  bool expand_output = false;  // four times the output's channels rather than the input's
  bool pre_norm_act = false;
  bool conv_bias = false;       // of the last convolution and of the shortcut
  bool stride_in_pool = false;  // before the first convolution, rather than in the depthwise one
  bool squeeze_early = false;   // before the second norm
  // Attention.
  bool expand_first = false;  // queries, keys and values have the output's channels rather than the input's
  bool shortcut_bias = true;
  bool batch_norm = false;  // instead of layer norms
  bool layer_scale = false;
  Positions positions = Positions::Table;
  int positions_hidden = 512;
  Pool pool = Pool::Average2;
  int head_hidden = 0;  // a layer with tanh before the classifier; 0: none
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::coatnet
