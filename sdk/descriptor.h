// A file descriptor that is closed at the end of its scope.
#pragma once

#include <unistd.h>

namespace ferry {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}  // of open(): below 0 where it failed
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // Now: 0, or -1 with errno, as a full disk may say here only.
  int close() {
    const int fd = fd_;
    fd_ = -1;
    return fd >= 0 ? ::close(fd) : 0;
  }

 private:
  int fd_;
};

}  // namespace ferry
