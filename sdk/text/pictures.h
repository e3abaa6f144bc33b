// Where pictures are in a text: of each token the places by which multimodal rope turns (Wang et al., arXiv:2409.12191,
// as transformers numbers them), and of each patch what the vision graph takes beside its pixels. docs/format.md,
// "Pictures in a text".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sdk/status.h"

namespace ferry {

// Rows and columns: of patches, or of the squares of patches that are one token each.
struct PictureGrid {
  int32_t rows = 0, columns = 0;

  int64_t size() const { return int64_t{rows} * columns; }
  bool operator==(const PictureGrid&) const = default;
};

// The inputs of a vision graph that follow from a picture's size; P patches, in the order in which they come.
struct PatchPlaces {
  std::vector<int32_t> places;       // [2,P]: row and column
  std::vector<int32_t> table;        // [4,P]: the cells around the patch in the table of position embeddings
  std::vector<float> table_weights;  // [4,P]
};
// `patches`: multiples of `merge`. The table, side x side, is stretched over the picture so that its corners are the
// picture's.
PatchPlaces patch_places(PictureGrid patches, int32_t merge, int32_t side);

// Where a text stands after some tokens.
class TokenPlaces {
 public:
  // `picture_token` stands for squares of pictures; of these the first one's come first.
  explicit TokenPlaces(int32_t picture_token) : picture_token_(picture_token) {}

  // Behind the tokens so far; `pictures`: all that the text has, squares of each. FERRY_INVALID_ARGUMENT: tokens stand
  // for more squares than the pictures have.
  Status append(std::span<const int32_t> tokens, std::span<const PictureGrid> pictures);

  // The same of one token that stands for no picture, whichever it is: one that the model has made.
  void append_plain();

  // Places in time, height and width of token `index`.
  int32_t axis(size_t axis, size_t index) const { return axes_[axis][index]; }
  // Which square it stands for, counted through all pictures from 1 on; 0: none.
  int32_t row(size_t index) const { return rows_[index]; }
  size_t size() const { return rows_.size(); }
  // How many pictures have all of their tokens.
  size_t pictures() const { return picture_; }
  // Does the last token stand for a picture that has further squares?
  bool within_picture() const { return square_ > 0; }

 private:
  int32_t picture_token_;
  std::vector<int32_t> axes_[3], rows_;
  int32_t next_ = 0;    // place of the next token that is no picture's
  int32_t row_ = 0;     // squares so far
  size_t picture_ = 0;  // the one that comes next, or that is at hand
  int32_t square_ = 0;  // of it so far
};

}  // namespace ferry
