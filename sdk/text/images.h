// Where images are in a text: of each token the places by which multimodal rope turns (Wang et al., arXiv:2409.12191,
// as transformers numbers them), and of each patch what the vision graph takes beside its pixels. docs/format.md,
// "Images in a text".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sdk/status.h"

namespace ferry {

// Rows and columns: of patches, or of the squares of patches that are one token each.
struct ImageGrid {
  int32_t rows = 0, columns = 0;

  int64_t size() const { return int64_t{rows} * columns; }
  bool operator==(const ImageGrid&) const = default;
};

// The inputs of a vision graph that follow from an image's size; P patches, in the order in which they come.
struct PatchPlaces {
  std::vector<int32_t> places;       // [2,P]: row and column
  std::vector<int32_t> table;        // [4,P]: the cells around the patch in the table of position embeddings
  std::vector<float> table_weights;  // [4,P]
};
// `patches`: multiples of `merge`. The table, side x side, is stretched over the image so that its corners are the
// image's.
PatchPlaces patch_places(ImageGrid patches, int32_t merge, int32_t side);

// Where a text stands after some tokens.
class TokenPlaces {
 public:
  // `image_token` stands for squares of images; of these the first one's come first.
  explicit TokenPlaces(int32_t image_token) : image_token_(image_token) {}

  // Behind the tokens so far; `images`: all that the text has, squares of each. FERRY_INVALID_ARGUMENT: tokens stand
  // for more squares than the images have.
  Status append(std::span<const int32_t> tokens, std::span<const ImageGrid> images);

  // The same of one token that stands for no image, whichever it is: one that the model has made.
  void append_plain();

  // Places in time, height and width of token `index`.
  int32_t axis(size_t axis, size_t index) const { return axes_[axis][index]; }
  // Which square it stands for, counted through all images from 1 on; 0: none.
  int32_t row(size_t index) const { return rows_[index]; }
  size_t size() const { return rows_.size(); }
  // How many images have all of their tokens.
  size_t images() const { return image_; }
  // Does the last token stand for an image that has further squares?
  bool within_image() const { return square_ > 0; }

 private:
  int32_t image_token_;
  std::vector<int32_t> axes_[3], rows_;
  int32_t next_ = 0;    // place of the next token that is no image's
  int32_t row_ = 0;     // squares so far
  size_t image_ = 0;    // the one that comes next, or that is at hand
  int32_t square_ = 0;  // of it so far
};

}  // namespace ferry
