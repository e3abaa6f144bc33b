// Positions for images in a text: token positions for multimodal RoPE (Wang et al., arXiv:2409.12191, numbered as in
// transformers), and the vision graph's inputs besides pixels. See docs/format.md, "Images in a text".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sdk/status.h"

namespace ferry {

// Rows and columns: of patches, or of merged patches, which are one token each.
struct ImageGrid {
  int32_t rows = 0, columns = 0;

  int64_t size() const { return int64_t{rows} * columns; }
  bool operator==(const ImageGrid&) const = default;
};

// Inputs of a vision graph that depend only on an image's size; P patches, in their order.
struct PatchPositions {
  std::vector<int32_t> places;       // [2,P]: row and column
  std::vector<int32_t> table;        // [4,P]: indices of the four surrounding cells in the table of position embeddings
  std::vector<float> table_weights;  // [4,P]
};
// `patches`: multiples of `merge`. The table of side x side cells is interpolated over the image, corners aligned.
PatchPositions patch_positions(ImageGrid patches, int32_t merge, int32_t side);

// Positions of the tokens of a text.
class TokenPositions {
 public:
  // `image_token` is the placeholder, repeated once per merged patch of the images in order.
  explicit TokenPositions(int32_t image_token) : image_token_(image_token) {}

  // Appends tokens; `images`: all images of the text, in merged patches. FERRY_INVALID_ARGUMENT: there are more
  // placeholders than merged patches.
  Status append(std::span<const int32_t> tokens, std::span<const ImageGrid> images);

  // Appends one generated token, which is never a placeholder.
  void append_plain();

  // Position of token `index` in time, height or width.
  int32_t axis(size_t axis, size_t index) const { return axes_[axis][index]; }
  // The merged patch of the token, counted from 1 through all images; 0: none.
  int32_t row(size_t index) const { return rows_[index]; }
  size_t size() const { return rows_.size(); }
  // Number of images with all their tokens.
  size_t images() const { return image_; }
  // Whether the last token belongs to an image with further merged patches.
  bool within_image() const { return square_ > 0; }

 private:
  int32_t image_token_;
  std::vector<int32_t> axes_[3], rows_;
  int32_t next_ = 0;    // position of the next token that is not a placeholder
  int32_t row_ = 0;     // merged patches so far
  size_t image_ = 0;    // the present or next image
  int32_t square_ = 0;  // merged patches of it so far
};

}  // namespace ferry
