// Depth Anything, V1 and V2 (Yang et al., arXiv:2401.10891 and arXiv:2406.09414): DINOv2 with the dense head of DPT
// (Ranftl et al., arXiv:2103.13413), one number for each place of an image. The head has transformers' names, the
// backbone timm's; naming tables read transformers' checkpoints and the authors' own.
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::depth_anything {

struct Config {
  const char* architecture;
  int width, depth, heads, hidden;               // of the backbone; hidden: of its MLPs
  std::vector<int> levels;                       // the head reads the tokens after so many blocks
  std::vector<int> neck;                         // channels of a level
  int fusion;                                    // of all levels where they meet
  int patch = 14;                                // its side in pixels
  std::vector<double> factors = {4, 2, 1, 0.5};  // a level's size in patches
  int head = 32;                                 // channels before the last convolution
  int head_level = 3;                            // which of the fused maps the head reads
  bool metric = false;                           // metres, up to `maximum`; else what grows with nearness
  double maximum = 1;                            // what the last activation is multiplied by
  bool swiglu = false;
  bool qkv_bias = true;
  bool norm = true;              // of the tokens that the head reads
  Tensor (*act)(Tensor) = gelu;  // of the MLPs
  double epsilon = 1e-6;
  double position_offset = 0;  // of positions_like()

  bool operator==(const Config&) const = default;
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
// The same of any configuration.
void build(Graph& graph, const Weights& weights, const ImageOptions& options, const Config& config);
Described described_by(const nlohmann::json& config);
// The network of a transformers config.json.
Config from_transformers(const nlohmann::json& config);
// The image that the table of positions covers.
std::optional<Settings::Size> stored_size(const Weights& weights, const ImageOptions& options);

}  // namespace ferry::depth_anything
