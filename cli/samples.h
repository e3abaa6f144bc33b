// Calibration samples from files.
#pragma once

#include <string>
#include <vector>

#include "cli/sdk.h"
#include "converter/quantize/sample.h"

namespace ferry::cli {

// Prepares images as the blob's preprocessing says. A blob without preprocessing takes .safetensors files instead, each
// with a tensor per input, in the source framework's layout. Folders stand for the files in them. Files that cannot be
// read are left out, with a sentence in `notes`. Throws Error if there is no file, or a blob has several inputs and
// images are given.
std::vector<int8::Sample> load_samples(const ModelHandle& model, const std::vector<std::string>& paths,
                                       std::vector<std::string>* notes);

// What the second graph of the blob's task reads for each image: the crops of found lines or objects. Each different
// crop once, at most `limit`; its name is the image's. Empty if the task needs more than an image.
std::vector<int8::Sample> crops_of(const ModelHandle& model, const int8::Samples& images, size_t limit,
                                   const ThreadOptions& threads);

}  // namespace ferry::cli
