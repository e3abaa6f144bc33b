// The bytes of a blob: a mapped file, a part of a file, or memory of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "sdk/status.h"

namespace ferry {

// Of a file, when it was mapped: another file, or the same one written again, has another.
struct FileStamp {
  uint64_t device, inode, offset, size;  // the mapped part, in bytes
  int64_t modified, changed;             // ns since 1970: of the contents, of the contents or the attributes
};
// Of a whole file. FERRY_IO_ERROR: it cannot be mapped, like a folder, a pipe or a socket.
Status stamp_of(int fd, FileStamp* out);

// Read-only bytes, aligned to kAlignment, at a fixed address while the Mapping exists.
//
// A mapped file is shared with other processes. It must not be truncated or rewritten in place; replace it by renaming
// another file over it, as NewFile does.
class Mapping {
 public:
  // FERRY_IO_ERROR: the file cannot be opened or mapped, or is not a regular file.
  static Status map_path(const char* path, std::unique_ptr<Mapping>* out);
  // `length` bytes from `offset`, at any alignment; `fd` may be closed afterwards. If `offset` is not a multiple of
  // kAlignment, the bytes are read into memory instead of mapped.
  // FERRY_INVALID_ARGUMENT: the range exceeds the file. FERRY_IO_ERROR; FERRY_OUT_OF_MEMORY.
  static Status map_fd(int fd, uint64_t offset, uint64_t length, std::unique_ptr<Mapping>* out);
  // Not copied. FERRY_INVALID_ARGUMENT: `data` is null or not aligned to kAlignment.
  static Status view(const void* data, size_t size, std::unique_ptr<Mapping>* out);

  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // Null for memory of the caller.
  const FileStamp* file() const { return file_ ? &*file_ : nullptr; }
  // Releases whole pages of these bytes, if they are mapped from a file: the next access reads the file again. Any
  // thread.
  void forget(std::span<const std::byte> bytes) const;

 private:
  Mapping() = default;
  Status map(int fd, uint64_t offset, size_t length);
  Status read(int fd, uint64_t offset, size_t length);

  std::span<const std::byte> bytes_;
  std::optional<FileStamp> file_;
  void* map_ = nullptr;  // from mmap(), or null
  size_t map_bytes_ = 0;
  void* heap_ = nullptr;  // from posix_memalign(), or null
};

}  // namespace ferry
