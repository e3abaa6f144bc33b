// Functions of Vulkan 1.1 that a compute program may call and that return a VkResult, create an object or destroy one,
// except those written out in fault_layer.cc. CALL(name), CREATE(name, type of the object), DESTROY(name, type).
#pragma once

#define FAULT_FUNCTIONS(CALL, CREATE, DESTROY)                           \
  CREATE(vkCreateBuffer, VkBuffer)                                       \
  DESTROY(vkDestroyBuffer, VkBuffer)                                     \
  CREATE(vkCreateBufferView, VkBufferView)                               \
  DESTROY(vkDestroyBufferView, VkBufferView)                             \
  CREATE(vkCreateImage, VkImage)                                         \
  DESTROY(vkDestroyImage, VkImage)                                       \
  CREATE(vkCreateImageView, VkImageView)                                 \
  DESTROY(vkDestroyImageView, VkImageView)                               \
  CREATE(vkCreateSampler, VkSampler)                                     \
  DESTROY(vkDestroySampler, VkSampler)                                   \
  DESTROY(vkDestroyShaderModule, VkShaderModule)                         \
  CREATE(vkCreatePipelineCache, VkPipelineCache)                         \
  DESTROY(vkDestroyPipelineCache, VkPipelineCache)                       \
  DESTROY(vkDestroyPipeline, VkPipeline)                                 \
  CREATE(vkCreatePipelineLayout, VkPipelineLayout)                       \
  DESTROY(vkDestroyPipelineLayout, VkPipelineLayout)                     \
  CREATE(vkCreateDescriptorSetLayout, VkDescriptorSetLayout)             \
  DESTROY(vkDestroyDescriptorSetLayout, VkDescriptorSetLayout)           \
  CREATE(vkCreateDescriptorPool, VkDescriptorPool)                       \
  DESTROY(vkDestroyDescriptorPool, VkDescriptorPool)                     \
  CREATE(vkCreateDescriptorUpdateTemplate, VkDescriptorUpdateTemplate)   \
  DESTROY(vkDestroyDescriptorUpdateTemplate, VkDescriptorUpdateTemplate) \
  CREATE(vkCreateCommandPool, VkCommandPool)                             \
  CREATE(vkCreateFence, VkFence)                                         \
  DESTROY(vkDestroyFence, VkFence)                                       \
  CREATE(vkCreateSemaphore, VkSemaphore)                                 \
  DESTROY(vkDestroySemaphore, VkSemaphore)                               \
  CREATE(vkCreateEvent, VkEvent)                                         \
  DESTROY(vkDestroyEvent, VkEvent)                                       \
  CREATE(vkCreateQueryPool, VkQueryPool)                                 \
  DESTROY(vkDestroyQueryPool, VkQueryPool)                               \
  CALL(vkAllocateDescriptorSets)                                         \
  CALL(vkGetMemoryFdPropertiesKHR)                                       \
  CALL(vkBeginCommandBuffer)                                             \
  CALL(vkBindBufferMemory)                                               \
  CALL(vkBindBufferMemory2)                                              \
  CALL(vkBindImageMemory)                                                \
  CALL(vkBindImageMemory2)                                               \
  CALL(vkDeviceWaitIdle)                                                 \
  CALL(vkEndCommandBuffer)                                               \
  CALL(vkEnumeratePhysicalDeviceGroups)                                  \
  CALL(vkFlushMappedMemoryRanges)                                        \
  CALL(vkFreeDescriptorSets)                                             \
  CALL(vkGetEventStatus)                                                 \
  CALL(vkGetFenceStatus)                                                 \
  CALL(vkGetPhysicalDeviceImageFormatProperties)                         \
  CALL(vkGetPhysicalDeviceImageFormatProperties2)                        \
  CALL(vkGetPipelineCacheData)                                           \
  CALL(vkGetQueryPoolResults)                                            \
  CALL(vkInvalidateMappedMemoryRanges)                                   \
  CALL(vkMapMemory)                                                      \
  CALL(vkMergePipelineCaches)                                            \
  CALL(vkQueueBindSparse)                                                \
  CALL(vkQueueWaitIdle)                                                  \
  CALL(vkResetCommandBuffer)                                             \
  CALL(vkResetCommandPool)                                               \
  CALL(vkResetDescriptorPool)                                            \
  CALL(vkResetEvent)                                                     \
  CALL(vkResetFences)                                                    \
  CALL(vkSetEvent)                                                       \
  CALL(vkWaitForFences)
