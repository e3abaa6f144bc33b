// FastViT (Vasu et al., arXiv:2303.14189), in timm's names. The branches of training are written out; the passes make
// one convolution of them.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::fastvit {

struct Config {
  const char* architecture;
  int width;      // channels of the first stage; each stage doubles them
  int layers[4];  // blocks of each stage
  int mlp_ratio;
  bool attention = false;  // in the last stage, with a position encoding before it
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
// The same of any configuration.
void build(Graph& graph, const Weights& weights, const ImageOptions& options, const Config& config);

}  // namespace ferry::fastvit
