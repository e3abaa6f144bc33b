// Restores the checkpoint from which a blob was made, byte for byte: `ferry export`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace ferry {

struct Exported {
  size_t files = 0;
  uint64_t bytes = 0;
};

// Writes the files of the checkpoint of `blob`, and those beside it, into `folder`, which must be new or empty. Either
// all files are written, each with the recorded SHA-256, or none. Memory is proportional to the largest tensor,
// whatever the blob says; at most 64 times the blob's size is written. Throws Error if the blob does not contain them.
Exported export_checkpoint(const std::filesystem::path& blob, const std::filesystem::path& folder,
                           const std::function<void(std::string_view file, double fraction)>& progress = {});

}  // namespace ferry
