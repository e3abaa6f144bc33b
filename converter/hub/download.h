// One file of a repository, into the cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "converter/hub/http.h"

namespace ferry {

// What the hub says of a file before it is downloaded.
struct RemoteFile {
  std::string url;
  std::string name;  // for messages: "hf:timm/resnet50.a1_in1k: model.safetensors"
  std::string etag;  // of a large file its SHA-256, of a small one its Git hash; the blob's name in the cache
  uint64_t size = 0;
};

// A response's ETag as huggingface_hub writes it: that of the linked file first, without quotes and without W/. Throws
// Error, beginning with `where`, where it is none or could not be a file's name.
std::string etag_of(const HttpResponse& response, const std::string& where);

// Downloads to `partial`, from where it ends, as often as the connection breaks while some of the file still comes;
// then checks size and SHA-256 and renames it to `path`. Throws Error: what arrived stays in `partial` for the next
// time unless it is wrong.
void download(Http& http, const RemoteFile& file, const std::filesystem::path& partial,
              const std::filesystem::path& path, const std::function<void(uint64_t done)>& progress);

}  // namespace ferry
