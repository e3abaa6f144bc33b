// The GPU backend of a session. Operators with a kernel run in recorded command buffers; the others run on the CPU in
// between.
#pragma once

#include <memory>

#include "sdk/graph/backend.h"
#include "sdk/graph/session_options.h"
#include "sdk/model/model.h"

namespace ferry::gpu {

// Opens the device and packs the weights. `kept_taps` is indexed like Graph.taps. FERRY_GPU_UNAVAILABLE: no such
// device; the message gives the reason. The backend must be prepared before it runs; data() returns null until then.
Status create_backend(const Model& model, const SessionOptions& options, const std::vector<uint8_t>& kept_taps,
                      Pool* pool, std::unique_ptr<Backend>* out);

}  // namespace ferry::gpu
