// Memory that is not the app's alone: a camera's or a decoder's, which a backend's device reads where it lies.
#pragma once

#include <cstdint>
#include <memory>

namespace ferry {

class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  virtual ~DeviceMemory() = default;
  virtual uint64_t bytes() const = 0;
};

// What there is to import (ferry_memory_source, in which it is checked).
struct MemorySource {
  enum class Kind : uint8_t { Host, DmaBuf, HardwareBuffer };

  Kind kind = Kind::Host;
  uint64_t bytes = 0;
  void* address = nullptr;  // of host memory, or the AHardwareBuffer
  int fd = -1;              // of a dma-buf; stays the caller's
};

}  // namespace ferry
