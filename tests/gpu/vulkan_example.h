/* The example of vulkan.h as a C program sees it; interop_test.cc runs it. */
#ifndef FERRY_TESTS_GPU_VULKAN_EXAMPLE_H_
#define FERRY_TESTS_GPU_VULKAN_EXAMPLE_H_

#include <ferry/vulkan.h>

/* What an app has. */
typedef struct vulkan_app {
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue;
  uint32_t queue_family;
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  VkBuffer image;
  VkDeviceSize image_bytes;
  VkBuffer result;
  VkDeviceSize result_bytes;
} vulkan_app;

#if defined(__cplusplus)
extern "C"
#endif
    int
    vulkan_h_example(ferry_model* model, const vulkan_app* app);

#endif
