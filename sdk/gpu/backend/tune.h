// Measures which alternative of an operator is fastest on a device.
#pragma once

#include <vector>

#include "sdk/gpu/device/device.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"

namespace ferry::gpu {

// Times the alternatives of every chain of operators that has more than one, at the given tensor shapes and with the
// model's weights, and stores the fastest in the device's pipelines. Skips chains that were measured before, in any run
// of the application. `kept`: as in make_chains(). *measured: number of chains timed by this call. Canaries verify the
// results of the fastest. Errors: FERRY_GPU_LOST.
Status tune(const Model& model, const Shapes& shapes, const PerTensor<bool>& kept, Device& device, Storage storage,
            size_t* measured);

}  // namespace ferry::gpu
