// The CPU backend of a session: lowers every operator, plans one arena and runs the operators in order on a thread
// pool.
#pragma once

#include <memory>
#include <vector>

#include "sdk/graph/backend.h"
#include "sdk/graph/session_options.h"
#include "sdk/model/model.h"

namespace ferry::cpu {

// Lowers every operator and packs the weights that the model's store lacks. `kept_taps` is indexed like Graph.taps.
// `model` and `pool` must outlive the backend. The backend must be prepared before it runs. FERRY_UNSUPPORTED names the
// operator that has no lowering.
Status create_backend(const Model& model, const SessionOptions& options, const std::vector<uint8_t>& kept_taps,
                      Pool* pool, std::unique_ptr<Backend>* out);

}  // namespace ferry::cpu
