// Blobs whose answers are of every kind, written to files. What makes them and ferry.hpp do not go into one file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace camera {

struct Blob {
  std::string path;
  std::string field;                 // of the answer's JSON, which only this kind has
  std::vector<std::string> prompts;  // options that it needs, of `ferry run` and of camera-linux alike
};

// In `folder`, which has an image "mask.png".
std::vector<Blob> write_blobs(const std::filesystem::path& folder);
// A detector that sees one thing, whatever it is shown; and one that has nothing to do with images.
std::string write_detector(const std::filesystem::path& folder);
std::string write_language_model(const std::filesystem::path& folder);

}  // namespace camera
