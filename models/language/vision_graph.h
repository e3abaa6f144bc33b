// The vision graph of a language model: from the patches of one image to the feature rows of its tokens.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "converter/checkpoint/checkpoint.h"
#include "models/language/vision_tower.h"
#include "text_generated.h"

namespace ferry::language {

inline constexpr const char* kVision = "vision";
// Names of its output, and of the language graph's inputs in addition to ids.
inline constexpr const char *kFeatures = "image_features", *kRows = "image_rows", *kPositions = "position_ids";

struct VisionGraph {
  VisionTower tower;
  int rows;                  // maximum number of rows of an image
  fbs::PreprocessT prepare;  // preprocessing of images to patches

  void build(Graph& graph, const Weights& weights) const;
  // The blob's description of image tokens.
  fbs::ImagesT text() const;
};

// Preprocessing follows the preprocessor_config.json or processor_config.json beside the checkpoint, except that an
// image takes at most half of `max_length`. Throws Error if its patches have another size.
VisionGraph vision_graph_of(const VisionTower& tower, const Checkpoint& checkpoint, int max_length);

}  // namespace ferry::language
