// The only file that includes Vulkan: every function is found at run time, so a program starts where there is none.
#pragma once

#define VK_NO_PROTOTYPES
#include <volk.h>
// AHardwareBuffer is a name alone in it: the same code everywhere.
#include <vulkan/vulkan_android.h>

#include "sdk/status.h"

namespace ferry::gpu {

// "VK_ERROR_DEVICE_LOST" etc.
const char* result_name(VkResult result);

// OK for VK_SUCCESS. VK_ERROR_DEVICE_LOST gives FERRY_GPU_LOST, the two out-of-memory errors FERRY_OUT_OF_MEMORY, all
// else FERRY_BACKEND_ERROR: "vkQueueSubmit failed: VK_ERROR_DEVICE_LOST".
Status check(VkResult result, const char* function);

// Functions of a device, past the loader's own dispatch. A table of ours: volk's names some six hundred, and fills it
// through a global variable.
// clang-format off
#define FERRY_DEVICE_FUNCTIONS(X) \
  X(vkAllocateCommandBuffers) X(vkAllocateDescriptorSets) X(vkAllocateMemory) X(vkBeginCommandBuffer) \
  X(vkBindBufferMemory) X(vkCmdBindDescriptorSets) X(vkCmdBindPipeline) X(vkCmdCopyBuffer) X(vkCmdDispatch) \
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
  // These may be null: the device lacks the extension, or it is not enabled.
  PFN_vkGetMemoryHostPointerPropertiesEXT vkGetMemoryHostPointerPropertiesEXT;
  PFN_vkGetMemoryFdPropertiesKHR vkGetMemoryFdPropertiesKHR;
  PFN_vkGetAndroidHardwareBufferPropertiesANDROID vkGetAndroidHardwareBufferPropertiesANDROID;

  // FERRY_GPU_UNAVAILABLE, naming the function, where one is missing.
  static Status load(PFN_vkGetDeviceProcAddr get, VkDevice device, DeviceFunctions* out);
};

}  // namespace ferry::gpu
