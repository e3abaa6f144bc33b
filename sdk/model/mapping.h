// A blob's bytes, wherever they come from: a mapped file, part of one, or memory of the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sdk/status.h"

namespace ferry {

// Read-only bytes that begin at a multiple of kAlignment and stay where they are until the Mapping goes.
//
// A mapped file is shared with whoever else maps it: it must not be shortened or rewritten in place meanwhile (replace
// it by renaming another over it, as write_file() does).
class Mapping {
 public:
  // FERRY_IO_ERROR where it cannot be opened, is no regular file or cannot be mapped.
  static Status map_path(const char* path, std::unique_ptr<Mapping>* out);
  // `length` bytes from `offset`, any alignment; `fd` may be closed afterwards. Where the bytes do not begin at a
  // multiple of kAlignment in the file, they are read into memory instead of mapped.
  // FERRY_INVALID_ARGUMENT where the range leaves the file; FERRY_IO_ERROR; FERRY_OUT_OF_MEMORY.
  static Status map_fd(int fd, uint64_t offset, uint64_t length, std::unique_ptr<Mapping>* out);
  // Not copied. FERRY_INVALID_ARGUMENT where `data` is null or not a multiple of kAlignment.
  static Status view(const void* data, size_t size, std::unique_ptr<Mapping>* out);

  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // Lets go of the memory under whole pages of these bytes, if they are a mapped file's: whoever reads them again reads
  // the file. Any thread.
  void forget(std::span<const std::byte> bytes) const;

 private:
  Mapping() = default;
  Status map(int fd, uint64_t offset, size_t length);
  Status read(int fd, uint64_t offset, size_t length);

  std::span<const std::byte> bytes_;
  void* map_ = nullptr;  // from mmap(), or null
  size_t map_bytes_ = 0;
  void* heap_ = nullptr;  // from posix_memalign(), or null
};

}  // namespace ferry
