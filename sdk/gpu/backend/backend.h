// The GPU backend of a session: operators with a kernel run as one recorded command buffer, the others on the CPU
// between such.
#pragma once

#include <memory>

#include "sdk/graph/backend.h"
#include "sdk/graph/session_options.h"
#include "sdk/model/model.h"

namespace ferry::gpu {

// Finds the device, packs the weights. `kept_taps` is by index in Graph.taps. FERRY_GPU_UNAVAILABLE: no such device,
// with the reason. The backend must be prepared before it runs; data() of it is null before.
Status create_backend(const Model& model, const SessionOptions& options, const std::vector<uint8_t>& kept_taps,
                      Pool* pool, std::unique_ptr<Backend>* out);

}  // namespace ferry::gpu
