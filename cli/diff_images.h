// ferry diff --images: how far two blobs answer images alike.
#pragma once

#include <string>
#include <vector>

#include "cli/sdk.h"

namespace ferry::cli {

struct DiffImagesOptions {
  std::string a, b, output;  // output: an image of the worst ones side by side; may be empty
  std::vector<std::string> images;
  ThreadOptions threads;
};

// Prints the agreement and the worst images. Returns whether all answers agree. Throws Error.
bool diff_images(const DiffImagesOptions& options);

}  // namespace ferry::cli
