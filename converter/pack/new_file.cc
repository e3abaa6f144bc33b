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
  fd_ = ::mkstemp(name_.data());
  if (fd_ < 0) refuse(errno);
  const mode_t mask = ::umask(0);  // mkstemp() restricts the mode; sets that of open()
  ::umask(mask);
  ::fchmod(fd_, 0666 & ~mask);
}

NewFile::~NewFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!name_.empty()) ::unlink(name_.c_str());
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
