// The GPU engine of a session: operators with a kernel run as one recorded command buffer, the others on the CPU
// between such.
#pragma once

#include <memory>

#include "sdk/graph/engine.h"
#include "sdk/graph/session_options.h"
#include "sdk/model/model.h"

namespace ferry::gpu {

// Finds the device, packs the weights. `kept_taps` is by index in Graph.taps. FERRY_GPU_UNAVAILABLE: no such device,
// with the reason. The engine must be prepared before it runs; data() of it is null before.
Status create_engine(const Model& model, const SessionOptions& options, const std::vector<uint8_t>& kept_taps,
                     Pool* pool, std::unique_ptr<Engine>* out);

}  // namespace ferry::gpu
