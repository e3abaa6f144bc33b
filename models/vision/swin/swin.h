// Swin Transformer (Liu et al., arXiv:2103.14030) and its searched windows S3 (Chen et al., arXiv:2111.14725), in
// timm's names; torchvision's and transformers' checkpoints are read too.
#pragma once

#include "models/vision/picture_family.h"

namespace ferry::swin {

struct Config {
  const char* architecture;
  int width;  // channels of the first stage; each further one has twice as many
  int depths[4];
  int heads;       // of the first stage; likewise
  int windows[4];  // sides of the windows of each stage
};
const Config& config_of(const std::string& architecture);

std::span<const PictureVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const PictureOptions& options);
std::string architecture_of(const nlohmann::json& config);

}  // namespace ferry::swin
