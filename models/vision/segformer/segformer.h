// SegFormer (Xie et al., arXiv:2105.15203): Mix Transformers and the decoder that tells the class of every place, in
// transformers' names; the encoder with a classifier of whole images, too.
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::segformer {

// What is made of the last stages.
enum class Head {
  Places,  // logits for each place of the first stage's map
  Image,   // logits for the image; or nothing, where no classes are asked for
};

struct Config {
  const char* architecture;
  std::vector<int> widths, depths;  // a stage
  Head head = Head::Places;
  int decoder = 256;  // channels of the decoder
  std::vector<int> heads = {1, 2, 5, 8};
  std::vector<int> reductions = {8, 4, 2, 1};  // keys and values are of a map so many times smaller
  std::vector<int> patches = {7, 3, 3, 3}, strides = {4, 2, 2, 2};  // of a stage's first convolution
  std::vector<double> mlp_ratios = {4, 4, 4, 4};
  Tensor (*act)(Tensor) = gelu;

  bool operator==(const Config&) const = default;
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
Described described_by(const nlohmann::json& config);
// The network of a transformers config.json.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::segformer
