// RepViT (Wang et al., arXiv:2307.09283), in timm's names. The branches of training are written out; the passes make
// one convolution of them.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::repvit {

struct Config {
  const char* architecture;
  int width;            // channels of the first stage; each stage doubles them
  int depth[4];         // blocks of each stage
  bool legacy = false;  // the token mixer's branches have a norm each, instead of one after their sum
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
// The same of any configuration.
void build(Graph& graph, const Weights& weights, const ImageOptions& options, const Config& config);

}  // namespace ferry::repvit
