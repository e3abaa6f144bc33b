// SPDX-License-Identifier: Apache-2.0
// The system calls for cameras, which tests replace.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace camera {

// Each like the call of its name: -1, or NULL for map(), and errno on failure.
class System {
 public:
  virtual ~System() = default;
  virtual int open(const char* path) = 0;  // for reading and writing, non-blocking
  virtual void close(int fd) = 0;
  virtual int ioctl(int fd, unsigned long request, void* argument) = 0;
  // 1: there is something to fetch, possibly an error; 0: timeout.
  virtual int wait(int fd, int milliseconds) = 0;
  virtual void* map(int fd, size_t bytes, off_t offset) = 0;
  virtual void unmap(void* memory, size_t bytes) = 0;
};

// Linux.
System& real_system();

}  // namespace camera
