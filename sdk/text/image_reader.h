// Images in a text: encodes them with the blob's vision graph and writes the results to the language graph's inputs.
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
  // `table` belongs to the blob, which must stay open; `options` as for the language session. FERRY_CORRUPT: the graphs
  // do not have the required inputs (docs/format.md, "Images in a text").
  static Status open(const ferry_model* model, const fbs::Images& table, const ferry_session_options& options,
                     ferry_session* reading, std::unique_ptr<ImageReader>* out);

  int32_t token() const { return table_->token(); }
  // Tokens of the last image, with those that begin and end an image.
  std::vector<int32_t> tokens_of_last() const;
  // Size of each image in merged patches; each is one token.
  std::span<const ImageGrid> images() const { return grids_; }

  // Encodes another image; on failure the list is unchanged.
  Status see(const ferry_image& image);
  // The same with patches as the vision graph's preprocessing makes them; `grid` counts patches.
  Status see_patches(std::span<const float> patches, ImageGrid grid);
  void forget();
  void forget_last();

  // Resizes and writes the inputs of a run over the tokens of `ids` from `begin` on.
  Status write(ferry_session* reading, std::span<const int32_t> ids, const TokenPositions& places, size_t begin) const;

 private:
  void take(const ferry_session_options& options);
  Status start(ImageGrid grid, SessionHandle* session) const;
  Status finish(ferry_session* session, ImageGrid grid);

  const fbs::Images* table_ = nullptr;
  ModelHandle vision_;
  ferry_session_options options_{};  // strings are copies
  std::string gpu_device_, gpu_cache_dir_, cache_dir_;
  std::string name_;  // owned by the model
  int32_t planes_ = 0, width_ = 0;
  std::vector<ImageGrid> grids_;
  std::vector<std::vector<float>> rows_;  // per image: [planes,merged patches,width]
};

}  // namespace ferry
