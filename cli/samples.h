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

}  // namespace ferry::cli
