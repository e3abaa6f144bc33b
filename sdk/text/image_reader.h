// The images of a text: seen one by one by the blob's vision graph, and put into the inputs of the graph that reads.
#pragma once

#include <ferry/image.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sdk/text/handle.h"
#include "sdk/text/images.h"
#include "text_generated.h"

namespace ferry {

class ImageReader {
 public:
  // `table` is the blob's and outlives it; `options` as of the session that reads. FERRY_CORRUPT: the graphs do not
  // take what they are given. Inputs of a reading graph, and of the vision graph: docs/format.md, "Images in a text".
  static Status open(const ferry_model* model, const fbs::Images& table, const ferry_session_options& options,
                     ferry_session* reading, std::unique_ptr<ImageReader>* out);

  int32_t token() const { return table_->token(); }
  // The tokens of the image that was seen last, with those around them.
  std::vector<int32_t> tokens_of_last() const;
  // Of all images, squares of patches: each is a token.
  std::span<const ImageGrid> images() const { return grids_; }

  // Sees another image; on failure they are those from before.
  Status see(const ferry_image& image);
  // The same of patches as the vision graph's recipe would make them; `grid` counts patches.
  Status see_patches(std::span<const float> patches, ImageGrid grid);
  void forget();
  void forget_last();

  // Shapes and writes the inputs of a run over so many tokens of the text, `ids`, from `begin` on.
  Status write(ferry_session* reading, std::span<const int32_t> ids, const TokenPlaces& places, size_t begin) const;

 private:
  void take(const ferry_session_options& options);
  Status start(ImageGrid grid, SessionHandle* session) const;
  Status finish(ferry_session* session, ImageGrid grid);

  const fbs::Images* table_ = nullptr;
  ModelHandle vision_;
  ferry_session_options options_{};  // with strings of its own
  std::string gpu_device_, gpu_cache_dir_, cache_dir_;
  std::string name_;  // the model's
  int32_t planes_ = 0, width_ = 0;
  std::vector<ImageGrid> grids_;
  std::vector<std::vector<float>> rows_;  // of each image [planes,squares,width]
};

}  // namespace ferry
