// SegFormer (Xie et al., arXiv:2105.15203): Mix Transformers with the all-MLP decoder for semantic segmentation, or
// with an image classifier; transformers' module names.
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::segformer {

// The head.
enum class Head {
  Segmentation,    // logits per position of the first stage's map
  Classification,  // logits of the image; none, if num_classes is 0
};

struct Config {
  const char* architecture;
  std::vector<int> widths, depths;  // per stage
  Head head = Head::Segmentation;
  int decoder = 256;  // channels of the decoder
  std::vector<int> heads = {1, 2, 5, 8};
  std::vector<int> reductions = {8, 4, 2, 1};                       // sequence reduction ratios of keys and values
  std::vector<int> patches = {7, 3, 3, 3}, strides = {4, 2, 2, 2};  // kernel and stride of each stage's patch merging
  std::vector<double> mlp_ratios = {4, 4, 4, 4};
  Tensor (*act)(Tensor) = gelu;

  bool operator==(const Config&) const = default;
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
Described described_by(const nlohmann::json& config);
// The configuration that a transformers config.json describes.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::segformer
