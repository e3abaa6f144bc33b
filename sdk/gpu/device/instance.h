// The Vulkan library and its physical devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sdk/gpu/device/vulkan.h"

namespace ferry::gpu {

// Functions of an instance: ours, or that of a caller's device.
struct InstanceFunctions {
  PFN_vkDestroyInstance vkDestroyInstance;
  PFN_vkEnumeratePhysicalDevices vkEnumeratePhysicalDevices;
  PFN_vkGetPhysicalDeviceProperties2 vkGetPhysicalDeviceProperties2;
  PFN_vkGetPhysicalDeviceFeatures2 vkGetPhysicalDeviceFeatures2;
  PFN_vkGetPhysicalDeviceMemoryProperties vkGetPhysicalDeviceMemoryProperties;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties vkGetPhysicalDeviceQueueFamilyProperties;
  PFN_vkEnumerateDeviceExtensionProperties vkEnumerateDeviceExtensionProperties;
  PFN_vkCreateDevice vkCreateDevice;
  PFN_vkGetDeviceProcAddr vkGetDeviceProcAddr;

  // FERRY_GPU_UNAVAILABLE: a function is missing; the message names it.
  static Status load(PFN_vkGetInstanceProcAddr get, VkInstance instance, InstanceFunctions* out);
};

// A physical device. `problem` is a sentence that says why it cannot be used ("" if it can): Vulkan below 1.1, no
// compute queue, or limits below the kernels' needs (4 storage buffers per stage, 128 bytes of push constants, 128
// invocations per workgroup, 16 KiB of shared memory).
struct DeviceInfo {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  std::string driver;         // name and version if reported, for example "llvmpipe (LLVM 15.0.6), Mesa 22.3.6"
  uint64_t memory_bytes = 0;  // of the largest device-local heap
  std::string problem;
};

std::vector<VkQueueFamilyProperties> queue_families(const InstanceFunctions& vk, VkPhysicalDevice device);
DeviceInfo describe(const InstanceFunctions& vk, VkPhysicalDevice device);

// The process's instance. Created on first use and shared; destroyed with its last user.
class Instance {
 public:
  // FERRY_GPU_UNAVAILABLE: no Vulkan library, no instance, or no device; the message says which.
  static Status open(std::shared_ptr<const Instance>* out);
  ~Instance();

  VkInstance handle() const { return handle_; }
  const InstanceFunctions& functions() const { return functions_; }
  const std::vector<DeviceInfo>& devices() const { return devices_; }

  // Selects the device by index ("0"), by a substring of its name (case-insensitive), or the best one ("", "best"):
  // usable, then discrete before integrated before virtual before software, then by memory. FERRY_GPU_UNAVAILABLE:
  // none, or its `problem`.
  Status choose(const char* choice, const DeviceInfo** out) const;

 private:
  Instance() = default;

  VkInstance handle_ = VK_NULL_HANDLE;
  InstanceFunctions functions_{};
  std::vector<DeviceInfo> devices_;
};

}  // namespace ferry::gpu
