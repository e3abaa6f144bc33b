// Qwen3-VL's vision tower (Bai et al., arXiv:2511.21631), from the `vision_config` of a config.json, in transformers'
// names: a transformer over the patches of one image of any size, of whose output squares of patches become rows as
// wide as the language model's embeddings. Position embeddings are interpolated from a square table. The output of some
// blocks, deep-stack features, goes to layers of the language model (Meng et al., arXiv:2406.04334).
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/language/config.h"

namespace ferry::language {

struct VisionTower {
  int width, heads, depth;
  int hidden;  // of the MLP
  Tensor (*activation)(Tensor);
  int patch, frames;      // a patch is [3,frames,patch,patch], an image repeated in `frames`
  int merge;              // squares of merge x merge patches become a row
  int side;               // of the table of position embeddings
  int out;                // channels of a row
  std::vector<int> deep;  // blocks whose output becomes rows, too: of the n-th what is added behind layer n

  // Of the language model: what stands for a row, and what stands before and behind an image's rows.
  int token, start, end;

  int patch_channels() const { return 3 * frames * patch * patch; }
  int planes() const { return 1 + static_cast<int>(deep.size()); }
};

// `deep`: where the file has no deepstack_visual_indexes. The tokens are not read. Throws Error.
VisionTower vision_tower_of(const Configuration& vision, const std::vector<int>& deep);

// The patches of an image, in the order that the tower merges them: row by row of squares, and row by row within one.
struct Patches {
  Tensor values;         // [P,patch_channels]
  Tensor places;         // Int32 [2,P], each below `longest`: row and column of each patch
  Tensor table_places;   // Int32 [4,P]: the cells of the table around each patch
  Tensor table_weights;  // [4,P]: and how much it has of each
};

// [planes,1+P/merge^2,out]: row 0 holds zeros, the others what takes the place of the image's tokens; then the same
// of each deep block. `w`: "model.visual".
Tensor see(const Patches& patches, const Weights& w, const VisionTower& tower, int longest);

}  // namespace ferry::language
