// Does a device keep float16 values below 2^-14, or take them for zero?
#pragma once

#include "sdk/gpu/device/device.h"

namespace ferry::gpu {

inline constexpr const char* kFlushesFloat16 =
    "this device takes float16 values below 2^-14 for zero: small weights and activations are lost in float16";

// Stores denormal values as float16 and reads them back, once a device and driver: the result is kept with the
// device's pipelines. FERRY_GPU_LOST, FERRY_OUT_OF_MEMORY.
Status flushes_float16(Device& device, bool* flushes);

}  // namespace ferry::gpu
