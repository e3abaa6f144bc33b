#include "converter/checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "converter/error.h"

namespace ferry {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes, int fd)
    : path_(std::move(path)), bytes_(bytes), fd_(fd) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  close(fd_);
}

void MappedFile::read(size_t begin, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(begin));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("%s: cannot be read: %s", path_.c_str(), std::strerror(errno));
    if (n == 0) fail("%s: has become shorter since it was opened", path_.c_str());
    begin += static_cast<size_t>(n);
    out = out.subspan(static_cast<size_t>(n));
  }
}

void MappedFile::forget(std::span<const std::byte> bytes) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()), end = begin + bytes.size();
  const auto first = reinterpret_cast<uintptr_t>(bytes_.data()), last = first + bytes_.size();
  if (begin < first || end > last) return;  // not in this file
  const uintptr_t from = (begin + page - 1) / page * page, to = end / page * page;
  if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail("%s: cannot be opened: %s", path.c_str(), std::strerror(errno));
  struct stat info;
  if (fstat(file.fd, &info) != 0) fail("%s: cannot be read: %s", path.c_str(), std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail("%s: is not a regular file", path.c_str());
  std::span<const std::byte> bytes;
  if (info.st_size > 0) {
    const size_t size = static_cast<size_t>(info.st_size);
    void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) fail("%s: cannot be mapped: %s", path.c_str(), std::strerror(errno));
    bytes = {static_cast<const std::byte*>(data), size};
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, bytes, std::exchange(file.fd, -1)));
}

}  // namespace ferry
