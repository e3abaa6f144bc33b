// The way back: from a blob to the checkpoint that it was made of, byte for byte. `ferry export`.
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

// Writes the files of the checkpoint that `blob` was made from, and those that lay beside it, into `folder`, which is
// new or empty: it is there with all of them, each of the SHA-256 that the converter noted, or not at all. Takes memory
// in proportion to the largest tensor, whatever the blob says, and writes at most 64 times its size. Throws Error with
// one sentence where the blob does not hold them.
Exported export_checkpoint(const std::filesystem::path& blob, const std::filesystem::path& folder,
                           const std::function<void(std::string_view file, double fraction)>& progress = {});

}  // namespace ferry
