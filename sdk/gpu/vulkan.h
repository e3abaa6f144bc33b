// The only file that includes Vulkan: every function is found at run time, so a program starts where there is none.
#pragma once

#define VK_NO_PROTOTYPES
#include <volk.h>

#include "sdk/status.h"

namespace ferry::gpu {

// "VK_ERROR_DEVICE_LOST" etc.
const char* result_name(VkResult result);

// OK for VK_SUCCESS. VK_ERROR_DEVICE_LOST gives FERRY_GPU_LOST, the two out-of-memory errors FERRY_OUT_OF_MEMORY, all
// else FERRY_BACKEND_ERROR: "vkQueueSubmit failed: VK_ERROR_DEVICE_LOST".
Status check(VkResult result, const char* function);

}  // namespace ferry::gpu
