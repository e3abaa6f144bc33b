#include "sdk/model/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "sdk/descriptor.h"
#include "sdk/model/model.h"

namespace ferry {
namespace {

int64_t nanoseconds(const struct timespec& time) { return int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec; }

}  // namespace

Status stamp_of(int fd, FileStamp* out) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return error(FERRY_IO_ERROR, "cannot read the file's size: %s", std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return error(FERRY_IO_ERROR, "it is a folder, expected a file");
  if (!S_ISREG(info.st_mode)) return error(FERRY_IO_ERROR, "it is not a regular file and cannot be mapped");
  *out = {.device = static_cast<uint64_t>(info.st_dev),
          .inode = static_cast<uint64_t>(info.st_ino),
          .offset = 0,
          .size = static_cast<uint64_t>(info.st_size),
          .modified = nanoseconds(info.st_mtim),
          .changed = nanoseconds(info.st_ctim)};
  return {};
}

Mapping::~Mapping() {
  if (map_) ::munmap(map_, map_bytes_);
  std::free(heap_);
}

Status Mapping::map_path(const char* path, std::unique_ptr<Mapping>* out) {
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return error(FERRY_IO_ERROR, "'%s': cannot be opened: %s", path, std::strerror(errno));
  FileStamp whole;
  Status status = stamp_of(file.get(), &whole);
  if (status.ok()) status = map_fd(file.get(), 0, whole.size, out);
  if (!status.ok()) return error(status.code(), "'%s': %s", path, status.message().data());
  return {};
}

Status Mapping::map_fd(int fd, uint64_t offset, uint64_t length, std::unique_ptr<Mapping>* out) {
  FileStamp stamp;
  FERRY_TRY(stamp_of(fd, &stamp));
  const uint64_t size = stamp.size;
  if (offset > size || length > size - offset)
    return error(FERRY_INVALID_ARGUMENT, "%llu bytes from offset %llu reach past the file's end at %llu",
                 static_cast<unsigned long long>(length), static_cast<unsigned long long>(offset),
                 static_cast<unsigned long long>(size));
  if (length > std::numeric_limits<size_t>::max() / 2)
    return error(FERRY_OUT_OF_MEMORY, "%llu bytes do not fit this process's address space",
                 static_cast<unsigned long long>(length));
  std::unique_ptr<Mapping> mapping(new (std::nothrow) Mapping);
  if (!mapping) return error(FERRY_OUT_OF_MEMORY, "no memory to map a file");
  const size_t bytes = static_cast<size_t>(length);
  if (bytes > 0)
    FERRY_TRY(offset % kAlignment == 0 ? mapping->map(fd, offset, bytes) : mapping->read(fd, offset, bytes));
  stamp.offset = offset;
  stamp.size = length;
  mapping->file_ = stamp;
  *out = std::move(mapping);
  return {};
}

Status Mapping::view(const void* data, size_t size, std::unique_ptr<Mapping>* out) {
  if (!data) return error(FERRY_INVALID_ARGUMENT, "the blob's address is NULL");
  if (reinterpret_cast<uintptr_t>(data) % kAlignment != 0)
    return error(FERRY_INVALID_ARGUMENT, "the blob's address %p is not a multiple of %zu", data, kAlignment);
  std::unique_ptr<Mapping> mapping(new (std::nothrow) Mapping);
  if (!mapping) return error(FERRY_OUT_OF_MEMORY, "no memory for a view");
  mapping->bytes_ = {static_cast<const std::byte*>(data), size};
  *out = std::move(mapping);
  return {};
}

// mmap() needs a multiple of the page size: maps from the page that contains `offset`, which keeps the alignment.
Status Mapping::map(int fd, uint64_t offset, size_t length) {
  const size_t before = static_cast<size_t>(offset % static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  map_bytes_ = length + before;
  void* start = ::mmap(nullptr, map_bytes_, PROT_READ, MAP_PRIVATE, fd, static_cast<off_t>(offset - before));
  if (start == MAP_FAILED)
    return error(errno == ENOMEM ? FERRY_OUT_OF_MEMORY : FERRY_IO_ERROR, "cannot map %zu bytes from offset %llu: %s",
                 length, static_cast<unsigned long long>(offset), std::strerror(errno));
  map_ = start;
  bytes_ = {static_cast<const std::byte*>(start) + before, length};
  return {};
}

void Mapping::forget(std::span<const std::byte> bytes) const {
  if (map_ == nullptr || bytes.empty()) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end) (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Status Mapping::read(int fd, uint64_t offset, size_t length) {
  if (::posix_memalign(&heap_, kAlignment, length) != 0) heap_ = nullptr;
  if (!heap_) return error(FERRY_OUT_OF_MEMORY, "no memory for %zu bytes read from the file", length);
  auto* to = static_cast<std::byte*>(heap_);
  size_t done = 0;
  while (done < length) {
    const size_t step = std::min<size_t>(length - done, size_t{1} << 30);
    const ssize_t got = ::pread(fd, to + done, step, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error(FERRY_IO_ERROR, "cannot read the file: %s", std::strerror(errno));
    if (got == 0) return error(FERRY_IO_ERROR, "the file became shorter while it was read");
    done += static_cast<size_t>(got);
  }
  bytes_ = {to, length};
  return {};
}

}  // namespace ferry
