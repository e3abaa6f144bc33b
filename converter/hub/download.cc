#include "converter/hub/download.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>

#include "converter/checkpoint/mapped_file.h"
#include "converter/checkpoint/sha256.h"
#include "converter/error.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxFailures = 3;  // maximum consecutive attempts without progress

// What an attempt must add to be progress: a server that ends each after some bytes would be asked for ever.
uint64_t progress_of(uint64_t size) { return std::clamp<uint64_t>(size / 64, 1, uint64_t{1} << 20); }

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

uint64_t size_of(const fs::path& path) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

// Opens the file that a transfer appends to. Its name is known, because a later attempt resumes there: it must be a
// plain file, no link to another.
std::FILE* open_partial(const fs::path& partial) {
  const int fd = open(partial.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  struct stat info;
  if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1) return fdopen(fd, "ab");
  if (fd >= 0) close(fd);
  if (fd >= 0 || errno == ELOOP) fail("%s: cannot be written: it is no plain file: remove it", partial.c_str());
  return nullptr;
}

// One transfer. Returns why it ended early, or nothing on success.
std::string attempt(Http& http, const RemoteFile& remote, const fs::path& partial,
                    const std::function<void(uint64_t)>& progress) {
  uint64_t here = size_of(partial);
  const std::unique_ptr<std::FILE, CloseFile> file(open_partial(partial));
  if (!file) fail("%s: cannot be written: %s", partial.c_str(), std::strerror(errno));
  bool written = true, first = true;
  const auto receive = [&](bool is_partial, std::span<const std::byte> bytes) {
    if (first && !is_partial && here > 0) {  // the server cannot resume: the transfer restarts
      written = ftruncate(fileno(file.get()), 0) == 0;
      here = 0;
    }
    first = false;
    written = written && std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
    here += bytes.size();
    if (progress) progress(here);
    return written && here <= remote.size;
  };
  const HttpResponse response = http.send({.url = remote.url, .from = here, .receive = receive});
  written = written && std::fflush(file.get()) == 0 && fsync(fileno(file.get())) == 0;
  if (!written) fail("%s: cannot be written: %s", partial.c_str(), std::strerror(errno));
  if (!response.failure.empty()) return response.failure;
  if (response.status == 200 || response.status == 206) return "";
  return "the server answered " + std::to_string(response.status);
}

void check(const RemoteFile& remote, const fs::path& partial) {
  const auto refuse = [&](const std::string& why) {
    std::error_code ignored;
    fs::remove(partial, ignored);
    fail("%s: %s: it was removed; try again", remote.name.c_str(), why.c_str());
  };
  if (const uint64_t size = size_of(partial); size != remote.size)
    refuse("has " + std::to_string(size) + " bytes, expected " + std::to_string(remote.size));
  if (remote.etag.size() != 64) return;
  const std::string sha256 = sha256_hex(MappedFile::open(partial)->bytes());
  if (sha256 != remote.etag) refuse("has the SHA-256 " + sha256 + ", expected " + remote.etag);
}

void check_free_space(const RemoteFile& remote, const fs::path& partial) {
  std::error_code error;
  const fs::space_info space = fs::space(partial.parent_path(), error);
  const uint64_t missing = remote.size - std::min(remote.size, size_of(partial));
  if (!error && missing > space.available)
    fail("%s: has %llu bytes, of which %llu are missing here, and %s has %llu bytes free", remote.name.c_str(),
         static_cast<unsigned long long>(remote.size), static_cast<unsigned long long>(missing),
         partial.parent_path().c_str(), static_cast<unsigned long long>(space.available));
}

}  // namespace

std::string etag_of(const HttpResponse& response, const std::string& where) {
  std::string etag = response.header("x-linked-etag");
  if (etag.empty()) etag = response.header("etag");
  if (etag.starts_with("W/")) etag.erase(0, 2);
  etag.erase(std::remove(etag.begin(), etag.end(), '"'), etag.end());
  const bool named = !etag.empty() && etag.size() <= 128 && etag.front() != '.' &&
                     std::all_of(etag.begin(), etag.end(),
                                 [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
  if (!named) fail("%s: the server gives no usable ETag for it: is this a Hugging Face hub?", where.c_str());
  return etag;
}

void download(Http& http, const RemoteFile& remote, const fs::path& partial, const fs::path& path,
              const std::function<void(uint64_t)>& progress) {
  if (size_of(partial) > remote.size) fs::remove(partial);
  check_free_space(remote, partial);
  for (int failures = 0; size_of(partial) < remote.size || !fs::exists(partial);) {
    const uint64_t before = size_of(partial);
    const std::string why = attempt(http, remote, partial, progress);
    if (size_of(partial) >= remote.size) break;
    failures = size_of(partial) >= before + progress_of(remote.size) ? 0 : failures + 1;
    if (failures == kMaxFailures)
      fail("%s: stopped after %llu of %llu bytes (%s); the next attempt resumes there", remote.name.c_str(),
           static_cast<unsigned long long>(size_of(partial)), static_cast<unsigned long long>(remote.size),
           why.empty() ? "the response was too short" : why.c_str());
    std::this_thread::sleep_for(std::chrono::milliseconds(200 * failures));
  }
  check(remote, partial);
  std::error_code error;
  fs::rename(partial, path, error);
  if (error) fail("%s: cannot be renamed: %s", partial.c_str(), error.message().c_str());
}

}  // namespace ferry
