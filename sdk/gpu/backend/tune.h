// Which of an operator's alternatives is fastest on a device.
#pragma once

#include <vector>

#include "sdk/gpu/device/device.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"

namespace ferry::gpu {

// Times the alternatives of every chain of operators that has more than one, at these shapes of every tensor and with
// the model's weights, and tells the device's pipelines the fastest; those that were timed before, on any run of the
// app, are left as they are. `kept` as in make_chains(). *measured: chains timed by this call. Whether the fastest is
// right is for canaries to find out. FERRY_GPU_LOST.
Status tune(const Model& model, const Shapes& shapes, const PerTensor<bool>& kept, Device& device, Storage storage,
            size_t* measured);

}  // namespace ferry::gpu
