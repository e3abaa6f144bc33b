// The only file that includes Vulkan. All functions are loaded at run time, so programs start without a Vulkan library.
#pragma once

#define VK_NO_PROTOTYPES
#include <volk.h>
// AHardwareBuffer is only declared, on every platform.
#include <vulkan/vulkan_android.h>

#include "sdk/status.h"

namespace ferry::gpu {

// For example "VK_ERROR_DEVICE_LOST".
const char* result_name(VkResult result);

// OK for VK_SUCCESS. VK_ERROR_DEVICE_LOST returns FERRY_GPU_LOST, the out-of-memory errors return FERRY_OUT_OF_MEMORY,
// others FERRY_BACKEND_ERROR. Message: "vkQueueSubmit failed: VK_ERROR_DEVICE_LOST".
Status check(VkResult result, const char* function);

// Device functions, which bypass the loader's dispatch. Our own table: volk's has some 600 names in a global variable.
// clang-format off
#define FERRY_DEVICE_FUNCTIONS(X) \
  X(vkAllocateCommandBuffers) X(vkAllocateDescriptorSets) X(vkAllocateMemory) X(vkBeginCommandBuffer) \
  X(vkBindBufferMemory) X(vkCmdBindDescriptorSets) X(vkCmdBindPipeline) X(vkCmdCopyBuffer) X(vkCmdDispatch) \
  X(vkCmdFillBuffer) \
  X(vkCmdPipelineBarrier) X(vkCmdPushConstants) X(vkCmdResetQueryPool) X(vkCmdWriteTimestamp) X(vkCreateBuffer) \
  X(vkCreateCommandPool) X(vkCreateComputePipelines) X(vkCreateDescriptorPool) X(vkCreateDescriptorSetLayout) \
  X(vkCreateFence) X(vkCreatePipelineCache) X(vkCreatePipelineLayout) X(vkCreateQueryPool) X(vkCreateShaderModule) \
  X(vkDestroyBuffer) X(vkDestroyCommandPool) X(vkDestroyDescriptorPool) X(vkDestroyDescriptorSetLayout) \
  X(vkDestroyDevice) X(vkDestroyFence) X(vkDestroyPipeline) X(vkDestroyPipelineCache) X(vkDestroyPipelineLayout) \
  X(vkDestroyQueryPool) X(vkDestroyShaderModule) X(vkEndCommandBuffer) X(vkFlushMappedMemoryRanges) X(vkFreeMemory) \
  X(vkGetBufferMemoryRequirements) X(vkGetDeviceQueue) X(vkGetPipelineCacheData) X(vkGetQueryPoolResults) \
  X(vkInvalidateMappedMemoryRanges) X(vkMapMemory) X(vkQueueSubmit) X(vkResetFences) X(vkUpdateDescriptorSets) \
  X(vkWaitForFences)
// clang-format on
struct DeviceFunctions {
#define FERRY_DECLARE(name) PFN_##name name;
  FERRY_DEVICE_FUNCTIONS(FERRY_DECLARE)
#undef FERRY_DECLARE
  // Null if the device lacks the extension, or it is not enabled.
  PFN_vkGetMemoryHostPointerPropertiesEXT vkGetMemoryHostPointerPropertiesEXT;
  PFN_vkGetMemoryFdPropertiesKHR vkGetMemoryFdPropertiesKHR;
  PFN_vkGetAndroidHardwareBufferPropertiesANDROID vkGetAndroidHardwareBufferPropertiesANDROID;

  // FERRY_GPU_UNAVAILABLE: a function is missing; the message names it.
  static Status load(PFN_vkGetDeviceProcAddr get, VkDevice device, DeviceFunctions* out);
};

}  // namespace ferry::gpu
