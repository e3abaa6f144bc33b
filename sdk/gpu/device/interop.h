// A device, buffers and semaphores that the application owns (ferry/vulkan.h).
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

// Operations of a GPU backend beyond those of every backend.
class Interop {
 public:
  virtual ~Interop() = default;

  // Binds input or output `tensor` to `range` (float32, rows without padding) from the next run until the backend is
  // prepared again. A null buffer restores host memory. FERRY_INVALID_ARGUMENT: the range does not fit.
  // FERRY_UNSUPPORTED: a CPU operator accesses the tensor.
  virtual Status bind(TensorId tensor, const BufferRange& range) = 0;

  // Starts a run and returns: adds its command buffer to the batch and submits it. Backend::finish() ends the run.
  // `fence` may be null. FERRY_UNSUPPORTED: an operator runs on the CPU.
  virtual Status submit(const VkSubmitInfo& batch, VkFence fence) = 0;
};

// The interface of a GPU backend; null for any other.
Interop* interop_of(Backend& backend);

}  // namespace ferry::gpu
