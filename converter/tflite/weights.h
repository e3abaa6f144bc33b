// The constants of a .tflite file as a checkpoint.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "converter/checkpoint/checkpoint.h"

namespace ferry::tflite {

// Those of floating point that are not sparse, by their names in the file. `network`: as for open_file(). Throws Error
// if the file is damaged.
std::shared_ptr<const Checkpoint> open_constants(const std::filesystem::path& path, const std::string& network = "");

}  // namespace ferry::tflite
