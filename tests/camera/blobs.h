// Writes blobs with answers of every kind to files. A separate file, because their headers and ferry.hpp cannot be
// included together.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace camera {

struct Blob {
  std::string path;
  std::string field;                 // of the answer's JSON, unique to this kind
  std::vector<std::string> prompts;  // required options of both `ferry run` and camera-linux
};

// In `folder`, which contains an image "mask.png".
std::vector<Blob> write_blobs(const std::filesystem::path& folder);
// A detector that always finds the same object; and a blob without images.
std::string write_detector(const std::filesystem::path& folder);
std::string write_language_model(const std::filesystem::path& folder);

}  // namespace camera
