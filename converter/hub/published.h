// A file at an address, with a known SHA-256.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "converter/error.h"

namespace ferry {

struct PublishedFile {
  std::string url;     // "https://download.pytorch.org/models/resnet50-11ad3fa6.pth"
  std::string sha256;  // whole, or its first digits; lower-case hexadecimal
};

// The file's name: the last part of the address.
std::string name_of(const PublishedFile& file);

// Throws Error if `path` has another SHA-256.
void check_published(const PublishedFile& file, const std::filesystem::path& path);

// The server cannot be reached: there is no network, or no server of that name.
class Unreachable : public Error {
 public:
  using Error::Error;
};

// Downloads the file to `folder`, which is created, and checks it; resumes an interrupted download. A file that is
// there already is only checked. Throws Unreachable or Error; a file with another SHA-256 is removed.
std::filesystem::path fetch_published(const PublishedFile& file, const std::filesystem::path& folder,
                                      const std::function<void(uint64_t done, uint64_t total)>& progress = {});

}  // namespace ferry
