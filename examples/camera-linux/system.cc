// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace camera {
namespace {

class Linux final : public System {
 public:
  int open(const char* path) override { return ::open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC); }
  void close(int fd) override { ::close(fd); }
  int ioctl(int fd, unsigned long request, void* argument) override {
    int result;
    do result = ::ioctl(fd, request, argument);
    while (result < 0 && errno == EINTR);
    return result;
  }
  int wait(int fd, int milliseconds) override {
    pollfd one = {fd, POLLIN, 0};
    const int result = poll(&one, 1, milliseconds);
    return result < 0 && errno == EINTR ? 0 : result;
  }
  void* map(int fd, size_t bytes, off_t offset) override {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  void unmap(void* memory, size_t bytes) override { munmap(memory, bytes); }
};

}  // namespace

System& real_system() {
  static Linux system;
  return system;
}

}  // namespace camera
