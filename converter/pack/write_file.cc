#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "converter/pack/pack.h"

namespace ferry {
namespace {

// A file beside the one that it will become; gone again unless renamed.
class Partial {
 public:
  explicit Partial(const std::filesystem::path& target) : name_(target.string() + ".XXXXXX") {
    fd_ = ::mkstemp(name_.data());
    if (fd_ < 0) fail("'%s': cannot be written: %s", target.c_str(), std::strerror(errno));
    const mode_t mask = ::umask(0);  // mkstemp() keeps everybody else out; give what open() would have given
    ::umask(mask);
    ::fchmod(fd_, 0666 & ~mask);
  }
  ~Partial() {
    if (fd_ >= 0) ::close(fd_);
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;

  void write(std::span<const std::byte> bytes, const std::filesystem::path& target) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("'%s': cannot be written: %s", target.c_str(), std::strerror(errno));
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
  }

  void become(const std::filesystem::path& target) {
    // close() is where some file systems tell that the disk is full.
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) != 0 || ::rename(name_.c_str(), target.c_str()) != 0)
      fail("'%s': cannot be written: %s", target.c_str(), std::strerror(errno));
    name_.clear();
  }

 private:
  std::string name_;
  int fd_ = -1;
};

}  // namespace

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  Partial partial(path);
  partial.write(bytes, path);
  partial.become(path);
}

}  // namespace ferry
