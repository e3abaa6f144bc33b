#include "converter/hub/published.h"

#include <charconv>
#include <system_error>

#include "converter/checkpoint/mapped_file.h"
#include "converter/checkpoint/sha256.h"
#include "converter/error.h"
#include "converter/hub/download.h"
#include "converter/hub/http.h"

namespace ferry {

namespace fs = std::filesystem;

std::string name_of(const PublishedFile& file) { return file.url.substr(file.url.rfind('/') + 1); }

void check_published(const PublishedFile& file, const fs::path& path) {
  const std::string found = sha256_hex(MappedFile::open(path)->bytes());
  if (!file.sha256.empty() && found.starts_with(file.sha256)) return;
  fail("%s: has the SHA-256 %s, and should have %s%s: it is damaged, or another file", path.c_str(), found.c_str(),
       file.sha256.size() < found.size() ? "one that begins with " : "", file.sha256.c_str());
}

fs::path fetch_published(const PublishedFile& file, const fs::path& folder,
                         const std::function<void(uint64_t, uint64_t)>& progress) {
  const std::string name = name_of(file);
  const fs::path path = folder / name, partial = folder / (name + ".part"), whole = folder / (name + ".new");
  if (fs::exists(path)) {
    check_published(file, path);
    return path;
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("%s: cannot be made: %s", folder.c_str(), error.message().c_str());
  Http http(file.url, "");
  const HttpResponse head = http.send({.url = file.url, .head = true, .follow = true});
  if (head.status == 0) throw Unreachable(file.url + ": cannot be reached (" + head.failure + ")");
  if (head.status != 200) fail("%s: the server answered %d", file.url.c_str(), head.status);
  RemoteFile remote{.url = file.url, .name = file.url, .etag = "", .size = 0};
  const std::string length = head.header("content-length");
  const auto read = std::from_chars(length.data(), length.data() + length.size(), remote.size);
  if (read.ec != std::errc() || read.ptr != length.data() + length.size() || remote.size == 0)
    fail("%s: the server does not say how long it is", file.url.c_str());
  download(http, remote, partial, whole, [&](uint64_t done) {
    if (progress) progress(done, remote.size);
  });
  try {
    check_published(file, whole);
  } catch (const Error& e) {
    fs::remove(whole, error);
    fail("%s; it was removed", e.what());
  }
  fs::rename(whole, path);
  return path;
}

}  // namespace ferry
