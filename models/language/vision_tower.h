// Qwen3-VL's vision tower (Bai et al., arXiv:2511.21631), configured by `vision_config` of config.json, with
// transformers' module names. A transformer processes the patches of one image of any size; each square of patches then
// becomes one row as wide as the language model's embeddings. Position embeddings are interpolated from a square table.
// DeepStack features, the output of some blocks, are added behind layers of the language model (Meng et al.,
// arXiv:2406.04334).
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/language/config.h"

namespace ferry::language {

struct VisionTower {
  int width, heads, depth;
  int hidden;  // of the MLP
  Tensor (*activation)(Tensor);
  int patch, frames;  // a patch is [3,frames,patch,patch]; an image is repeated `frames` times
  int merge;          // merge x merge patches become one row
  int side;           // of the table of position embeddings
  int out;            // channels of an output row
  // DeepStack blocks: the features of the n-th are added behind layer n of the language model.
  std::vector<int> deepstack;

  // Token ids of the language model: the placeholder of a row, and the start and the end of an image.
  int token, start, end;

  int patch_channels() const { return 3 * frames * patch * patch; }
  int planes() const { return 1 + static_cast<int>(deepstack.size()); }
};

// `deepstack`: default of deepstack_visual_indexes. Does not read the tokens. Throws Error if a setting is not
// supported.
VisionTower vision_tower_of(const Configuration& vision, const std::vector<int>& deepstack);

// The patches of an image in the order of merging: row-major over squares, and row-major within a square.
struct Patches {
  Tensor values;           // [P,patch_channels]
  Tensor positions;        // Int32 [2,P], each below `max_side`: row and column of each patch
  Tensor table_positions;  // Int32 [4,P]: the four cells of the position table around each patch
  Tensor table_weights;    // [4,P]: their bilinear weights
};

// Returns [planes,1+P/merge^2,out]: plane 0 is the image features, one plane per DeepStack block follows. Row 0 is
// zeros. `w`: "model.visual".
Tensor run_vision_tower(const Patches& patches, const Weights& w, const VisionTower& tower, int max_side);

}  // namespace ferry::language
