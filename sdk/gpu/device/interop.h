// A device, buffers and semaphores of the app's own (ferry/vulkan.h).
#pragma once

#include <memory>

#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/device/device.h"
#include "sdk/graph/backend.h"
#include "sdk/status.h"

struct ferry_gpu {
  std::shared_ptr<ferry::gpu::Device> device;
};

namespace ferry::gpu {

// What a backend on a GPU does besides what every backend does.
class Interop {
 public:
  virtual ~Interop() = default;

  // Input or output `tensor` lies at `place` from the next run on until the backend is prepared again: float32, rows
  // without padding. A null buffer: in host memory again. FERRY_INVALID_ARGUMENT: the place does not fit.
  // FERRY_UNSUPPORTED: the CPU has a part in it.
  virtual Status bind(TensorId tensor, const Place& place) = 0;

  // Begins a run and returns: the batch gets its command buffer here. Backend::finish() ends it. `fence` may be null.
  // FERRY_UNSUPPORTED: an operator runs on the CPU, in the middle of it.
  virtual Status submit(const VkSubmitInfo& batch, VkFence fence) = 0;
};

// Of a backend on a GPU; null of any other.
Interop* interop_of(Backend& backend);

}  // namespace ferry::gpu
