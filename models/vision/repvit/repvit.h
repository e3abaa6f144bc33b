// RepViT (Wang et al., arXiv:2307.09283), with timm's module names. The graph has the branches of training; the passes
// merge them into one convolution.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::repvit {

struct Config {
  const char* architecture;
  int width;            // channels of the first stage; each stage doubles them
  int depth[4];         // blocks per stage
  bool legacy = false;  // each branch of the token mixer has a norm, instead of one after their sum
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
// The same with an explicit configuration.
void build(Graph& graph, const Weights& weights, const ImageOptions& options, const Config& config);

}  // namespace ferry::repvit
