// The initializers of an ONNX file as a checkpoint.
#pragma once

#include <filesystem>
#include <memory>

#include "converter/checkpoint/checkpoint.h"

namespace ferry::onnx {

// Those of floating point and at least 16 bits, by their names in the file. The SHA-256 is the .onnx file's, as in a
// blob's provenance. Throws Error if the file is damaged.
std::shared_ptr<const Checkpoint> open_initializers(const std::filesystem::path& path);

}  // namespace ferry::onnx
