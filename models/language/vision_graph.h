// The graph by which a language model sees: from the patches of one image to the rows that take the places of its
// tokens.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "converter/checkpoint/checkpoint.h"
#include "models/language/vision_tower.h"
#include "text_generated.h"

namespace ferry::language {

inline constexpr const char* kVision = "vision";
// Names of its output and of the language graph's inputs besides ids.
inline constexpr const char *kFeatures = "image_features", *kRows = "image_rows", *kPlaces = "position_ids";

struct VisionGraph {
  VisionTower tower;
  int rows;                  // of the largest image
  fbs::PreprocessT prepare;  // images to patches

  void build(Graph& graph, const Weights& weights) const;
  // What the blob's text says of it.
  fbs::ImagesT text() const;
};

// Images are prepared as the preprocessor_config.json beside the checkpoint, or the processor_config.json, says, but
// for its largest ones: at most half of the longest text is an image. Throws Error where it cuts other patches.
VisionGraph vision_graph_of(const VisionTower& tower, const Checkpoint& checkpoint, int max_length);

}  // namespace ferry::language
