// Memory shared with a camera or a decoder, which a backend's device reads directly.
#pragma once

#include <cstdint>
#include <memory>

namespace ferry {

class DeviceMemory : public std::enable_shared_from_this<DeviceMemory> {
 public:
  virtual ~DeviceMemory() = default;
  virtual uint64_t bytes() const = 0;
};

// Memory to import (a checked ferry_memory_source).
struct MemorySource {
  enum class Kind : uint8_t { Host, DmaBuf, HardwareBuffer };

  Kind kind = Kind::Host;
  uint64_t bytes = 0;
  void* address = nullptr;  // of host memory, or of the AHardwareBuffer
  int fd = -1;              // of a dma-buf; the caller keeps it
};

}  // namespace ferry
