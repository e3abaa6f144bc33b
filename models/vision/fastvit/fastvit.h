// FastViT (Vasu et al., arXiv:2303.14189), with timm's module names. The graph has the branches of training; the passes
// merge them into one convolution.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::fastvit {

struct Config {
  const char* architecture;
  int width;      // channels of the first stage; each stage doubles them
  int layers[4];  // blocks per stage
  int mlp_ratio;
  bool attention = false;  // in the last stage, after a position encoding
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
// The same with an explicit configuration.
void build(Graph& graph, const Weights& weights, const ImageOptions& options, const Config& config);

}  // namespace ferry::fastvit
