#include "converter/pack/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "converter/error.h"

namespace ferry {

NewFile::NewFile(const std::filesystem::path& destination)
    : destination_(destination), name_(destination.string() + ".XXXXXX") {
#ifdef O_TMPFILE
  // A file without a name: a process that is killed leaves nothing.
  const std::filesystem::path folder = destination.has_parent_path() ? destination.parent_path() : ".";
  fd_ = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ >= 0) {
    descriptor_ = "/proc/self/fd/" + std::to_string(fd_);
    if (::access(descriptor_.c_str(), F_OK) == 0) return;
    ::close(fd_);
    descriptor_.clear();
  }
#endif
  create();
}

// For file systems without such files.
void NewFile::create() {
  fd_ = ::mkstemp(name_.data());
  if (fd_ < 0) refuse(errno);
  const mode_t mask = ::umask(0);  // mkstemp() restricts the mode; sets that of open()
  ::umask(mask);
  ::fchmod(fd_, 0666 & ~mask);
}

NewFile::~NewFile() {
  if (fd_ >= 0) ::close(fd_);
  if (descriptor_.empty() && !name_.empty()) ::unlink(name_.c_str());
}

std::filesystem::path NewFile::path() const { return descriptor_.empty() ? name_ : descriptor_; }

// Gives the file a temporary name beside its destination, by a link to its descriptor.
void NewFile::name() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = destination_.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(attempt);
    if (::linkat(AT_FDCWD, descriptor_.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      name_ = std::move(name);
      descriptor_.clear();
      return;
    }
    if (errno != EEXIST) break;
  }
  refuse(errno);
}

void NewFile::refuse(int why) const { fail("'%s': cannot be written: %s", destination_.c_str(), std::strerror(why)); }

void NewFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void NewFile::write_again(std::span<const std::byte> bytes) {
  off_t at = 0;
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(errno);
    bytes = bytes.subspan(static_cast<size_t>(n));
    at += n;
  }
}

void NewFile::keep() {
  if (!descriptor_.empty()) name();
  // Some file systems report a full disk on close().
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0 || ::rename(name_.c_str(), destination_.c_str()) != 0) refuse(errno);
  name_.clear();
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  NewFile file(path);
  file.write(bytes);
  file.keep();
}

}  // namespace ferry
