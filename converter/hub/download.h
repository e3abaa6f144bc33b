// Downloads a file of a repository into the cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "converter/hub/http.h"

namespace ferry {

// The hub's description of a file before the download.
struct RemoteFile {
  std::string url;
  std::string name;  // for messages: "hf:timm/resnet50.a1_in1k: model.safetensors"
  std::string etag;  // the SHA-256 of a large file, the Git hash of a small one; the blob's name in the cache
  uint64_t size = 0;
};

// A response's ETag as huggingface_hub normalizes it: the linked file's if present, without quotes and W/. Throws Error
// that begins with `where` if it is missing or is not a valid file name.
std::string etag_of(const HttpResponse& response, const std::string& where);

// Downloads to `partial`, resuming at its end, and retries while connections make progress; then checks size and
// SHA-256 and renames it to `path`. Throws Error; `partial` remains for the next attempt unless its content is wrong.
void download(Http& http, const RemoteFile& file, const std::filesystem::path& partial,
              const std::filesystem::path& path, const std::function<void(uint64_t done)>& progress);

}  // namespace ferry
