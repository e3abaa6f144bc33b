// Depth Anything V1 and V2 (Yang et al., arXiv:2401.10891 and arXiv:2406.09414): DINOv2 with the dense prediction head
// of DPT (Ranftl et al., arXiv:2103.13413). The output is one depth per pixel. The head has transformers' module names,
// the backbone timm's; naming tables read transformers' and the authors' checkpoints.
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::depth_anything {

struct Config {
  const char* architecture;
  int width, depth, heads, hidden;               // of the backbone; hidden: of its MLPs
  std::vector<int> levels;                       // blocks after which the head takes the tokens
  std::vector<int> neck;                         // channels of each level
  int fusion;                                    // channels of all levels after the projection
  int patch = 14;                                // patch side in pixels
  std::vector<double> factors = {4, 2, 1, 0.5};  // size of each level, in patches
  int head = 32;                                 // input channels of the last convolution
  int head_level = 3;                            // index of the fused map that the head takes
  bool metric = false;                           // depth in metres, up to `maximum`; else relative inverse depth
  double maximum = 1;                            // factor of the last activation
  bool swiglu = false;
  bool qkv_bias = true;
  bool norm = true;              // of the tokens that the head takes
  Tensor (*act)(Tensor) = gelu;  // of the MLPs
  double epsilon = 1e-6;
  double position_offset = 0;  // `offset` of positions_like()

  bool operator==(const Config&) const = default;
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
// The same with an explicit configuration.
void build(Graph& graph, const Weights& weights, const ImageOptions& options, const Config& config);
Described described_by(const nlohmann::json& config);
// The configuration that a transformers config.json describes.
Config from_transformers(const nlohmann::json& config);
// The image size of the position table.
std::optional<Settings::Size> stored_size(const Weights& weights, const ImageOptions& options);

}  // namespace ferry::depth_anything
