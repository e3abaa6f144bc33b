// The Vulkan library and its physical devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sdk/gpu/device/vulkan.h"

namespace ferry::gpu {

// Functions of an instance: ours, or the one that a caller's device belongs to.
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

  // FERRY_GPU_UNAVAILABLE, naming the function, where one is missing.
  static Status load(PFN_vkGetInstanceProcAddr get, VkInstance instance, InstanceFunctions* out);
};

// A physical device, described. `problem` says in one sentence why it cannot serve ("" where it can): Vulkan below 1.1,
// no compute queue, limits below what the kernels need (4 storage buffers a stage, 128 bytes of push constants, 128
// invocations a workgroup, 16 KiB of shared memory).
struct DeviceInfo {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  std::string driver;  // name and version in words, where the driver tells: "llvmpipe (LLVM 15.0.6), Mesa 22.3.6"
  uint64_t memory_bytes = 0;  // of the largest device-local heap
  std::string problem;
};

std::vector<VkQueueFamilyProperties> queue_families(const InstanceFunctions& vk, VkPhysicalDevice device);
DeviceInfo describe(const InstanceFunctions& vk, VkPhysicalDevice device);

// The process's instance, made at the first call and kept by its users; made anew when the last one is gone.
class Instance {
 public:
  // FERRY_GPU_UNAVAILABLE: no Vulkan library, no instance, no device at all; the sentence says which.
  static Status open(std::shared_ptr<const Instance>* out);
  ~Instance();

  VkInstance handle() const { return handle_; }
  const InstanceFunctions& functions() const { return functions_; }
  const std::vector<DeviceInfo>& devices() const { return devices_; }

  // The device of that index ("0"), of a name that contains `choice` in any case, or the best ("", "best"): one that
  // can serve, discrete before integrated before virtual before software, then by memory. FERRY_GPU_UNAVAILABLE: none,
  // or its `problem`.
  Status choose(const char* choice, const DeviceInfo** out) const;

 private:
  Instance() = default;

  VkInstance handle_ = VK_NULL_HANDLE;
  InstanceFunctions functions_{};
  std::vector<DeviceInfo> devices_;
};

}  // namespace ferry::gpu
