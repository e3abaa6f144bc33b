// Owns a file descriptor and closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace ferry {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}  // the result of open(); negative if that failed
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // Closes now. Returns 0, or -1 with errno: some errors, such as a full disk, are reported only here.
  int close() {
    const int fd = fd_;
    fd_ = -1;
    return fd >= 0 ? ::close(fd) : 0;
  }

 private:
  int fd_;
};

}  // namespace ferry
