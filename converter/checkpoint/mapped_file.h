// A whole file, mapped read-only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace ferry {

class MappedFile {
 public:
  // Throws Error if the file cannot be opened or mapped, or is not a regular file. An empty file maps to an empty span.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // Releases the pages that lie entirely within `bytes` until they are read again.
  void forget(std::span<const std::byte> bytes) const;
  // Copies bytes from `begin` on to `out`, which is faster for a whole file than to map its pages. Throws Error if the
  // file has become shorter.
  void read(size_t begin, std::span<std::byte> out) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes, int fd);

  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
  int fd_;
};

}  // namespace ferry
