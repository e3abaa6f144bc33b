// The CPU backend of a session: every operator lowered, one arena, run in order on a thread pool.
#pragma once

#include <memory>
#include <vector>

#include "sdk/graph/backend.h"
#include "sdk/graph/session_options.h"
#include "sdk/model/model.h"

namespace ferry::cpu {

// Lowers every operator (packing its weights unless the model's store has them). `kept_taps` is by index in Graph.taps;
// `model` and `pool` outlive the backend. It must be prepared before it runs. FERRY_UNSUPPORTED names the operator.
Status create_backend(const Model& model, const SessionOptions& options, const std::vector<uint8_t>& kept_taps,
                      Pool* pool, std::unique_ptr<Backend>* out);

}  // namespace ferry::cpu
