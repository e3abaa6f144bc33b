#include "sdk/gpu/device/instance.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace ferry::gpu {
namespace {

constexpr uint32_t kFloor = VK_API_VERSION_1_1;

template <typename Function>
bool find(PFN_vkGetInstanceProcAddr get, VkInstance instance, const char* name, Function* out) {
  *out = reinterpret_cast<Function>(get(instance, name));
  return *out != nullptr;
}

// Requirements of the kernels. The specification guarantees them to devices with a compute queue; drivers may not.
std::string problem_of(const VkPhysicalDeviceProperties& p, bool has_compute) {
  const VkPhysicalDeviceLimits& l = p.limits;
  const auto text = [](const char* format, auto... values) {
    char buffer[160];
    std::snprintf(buffer, sizeof buffer, format, values...);
    return std::string(buffer);
  };
  if (p.apiVersion < kFloor)
    return text("it has Vulkan %u.%u; 1.1 is needed", VK_API_VERSION_MAJOR(p.apiVersion),
                VK_API_VERSION_MINOR(p.apiVersion));
  if (!has_compute) return "it has no compute queue";
  if (l.maxPerStageDescriptorStorageBuffers < 4 || l.maxDescriptorSetStorageBuffers < 4)
    return text("a shader may bind %u storage buffers; 4 are needed", l.maxPerStageDescriptorStorageBuffers);
  if (l.maxPushConstantsSize < 128)
    return text("it has %u bytes of push constants; 128 are needed", l.maxPushConstantsSize);
  if (l.maxComputeWorkGroupInvocations < 128 || l.maxComputeWorkGroupSize[0] < 128)
    return text("a workgroup may have %u invocations; 128 are needed", l.maxComputeWorkGroupInvocations);
  if (l.maxComputeSharedMemorySize < 16384)
    return text("a workgroup may share %u bytes; 16384 are needed", l.maxComputeSharedMemorySize);
  if (l.maxStorageBufferRange < (1u << 24))
    return text("it binds %u bytes at once; 16 MiB are needed", l.maxStorageBufferRange);
  if (l.minStorageBufferOffsetAlignment > 4096)
    return text("it binds at multiples of %llu bytes; at most 4096 are supported",
                static_cast<unsigned long long>(l.minStorageBufferOffsetAlignment));
  return {};
}

int rank(const DeviceInfo& d) {
  if (!d.problem.empty()) return 9;
  switch (d.properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 4;
    default: return 3;
  }
}

std::string lower_case(const char* text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

}  // namespace

std::vector<VkQueueFamilyProperties> queue_families(const InstanceFunctions& vk, VkPhysicalDevice device) {
  uint32_t count = 0;
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vk.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  families.resize(count);
  return families;
}

Status InstanceFunctions::load(PFN_vkGetInstanceProcAddr get, VkInstance instance, InstanceFunctions* out) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto* function) {
    if (!find(get, instance, name, function) && missing == nullptr) missing = name;
  };
  need("vkDestroyInstance", &out->vkDestroyInstance);
  need("vkEnumeratePhysicalDevices", &out->vkEnumeratePhysicalDevices);
  need("vkGetPhysicalDeviceProperties2", &out->vkGetPhysicalDeviceProperties2);
  need("vkGetPhysicalDeviceFeatures2", &out->vkGetPhysicalDeviceFeatures2);
  need("vkGetPhysicalDeviceMemoryProperties", &out->vkGetPhysicalDeviceMemoryProperties);
  need("vkGetPhysicalDeviceQueueFamilyProperties", &out->vkGetPhysicalDeviceQueueFamilyProperties);
  need("vkEnumerateDeviceExtensionProperties", &out->vkEnumerateDeviceExtensionProperties);
  need("vkCreateDevice", &out->vkCreateDevice);
  need("vkGetDeviceProcAddr", &out->vkGetDeviceProcAddr);
  if (missing == nullptr) return {};
  return error(FERRY_GPU_UNAVAILABLE, "the Vulkan instance lacks %s: Vulkan 1.1 is needed", missing);
}

// Describes a device. One that reports nonsense is listed with a problem.
DeviceInfo describe(const InstanceFunctions& vk, VkPhysicalDevice device) {
  DeviceInfo info;
  info.handle = device;
  VkPhysicalDeviceDriverProperties driver{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  vk.vkGetPhysicalDeviceProperties2(device, &properties);
  info.properties = properties.properties;
  if (info.properties.apiVersion >= VK_API_VERSION_1_2) {
    properties.pNext = &driver;
    vk.vkGetPhysicalDeviceProperties2(device, &properties);
  }
  driver.driverName[VK_MAX_DRIVER_NAME_SIZE - 1] = driver.driverInfo[VK_MAX_DRIVER_INFO_SIZE - 1] = 0;
  info.driver = driver.driverName;
  if (driver.driverInfo[0] != 0) info.driver += (info.driver.empty() ? "" : ", ") + std::string(driver.driverInfo);
  if (info.driver.empty()) info.driver = "driver " + std::to_string(info.properties.driverVersion);

  VkPhysicalDeviceMemoryProperties memory{};
  vk.vkGetPhysicalDeviceMemoryProperties(device, &memory);
  for (uint32_t i = 0; i < std::min<uint32_t>(memory.memoryHeapCount, VK_MAX_MEMORY_HEAPS); ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      info.memory_bytes = std::max<uint64_t>(info.memory_bytes, memory.memoryHeaps[i].size);

  bool has_compute = false;
  for (const VkQueueFamilyProperties& family : queue_families(vk, device))
    has_compute |= family.queueCount > 0 && (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
  info.problem = problem_of(info.properties, has_compute);
  return info;
}

Instance::~Instance() {
  if (functions_.vkDestroyInstance != nullptr) functions_.vkDestroyInstance(handle_, nullptr);
}

Status Instance::open(std::shared_ptr<const Instance>* out) {
  static std::mutex mutex;
  static std::weak_ptr<const Instance> shared;
  const std::lock_guard lock(mutex);
  if ((*out = shared.lock()) != nullptr) return {};

  // The library stays loaded: drivers may crash when unloaded.
  static bool found = false;
  found = found || volkInitialize() == VK_SUCCESS;
  if (!found) return error(FERRY_GPU_UNAVAILABLE, "there is no Vulkan library (libvulkan.so) on this system");
  uint32_t version = VK_API_VERSION_1_0;
  if (vkEnumerateInstanceVersion != nullptr) (void)vkEnumerateInstanceVersion(&version);
  if (version < kFloor) return error(FERRY_GPU_UNAVAILABLE, "the Vulkan library is of version 1.0; 1.1 is needed");

  std::shared_ptr<Instance> instance(new Instance);
  const VkApplicationInfo application{
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pEngineName = "ferry", .apiVersion = kFloor};
  const VkInstanceCreateInfo create{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  if (const VkResult result = vkCreateInstance(&create, nullptr, &instance->handle_); result != VK_SUCCESS) {
    instance->handle_ = VK_NULL_HANDLE;
    return error(FERRY_GPU_UNAVAILABLE, "Vulkan has no usable driver: vkCreateInstance returned %s",
                 result_name(result));
  }
  FERRY_TRY(InstanceFunctions::load(vkGetInstanceProcAddr, instance->handle_, &instance->functions_));

  const InstanceFunctions& vk = instance->functions_;
  uint32_t count = 0;
  VkResult result = vk.vkEnumeratePhysicalDevices(instance->handle_, &count, nullptr);
  std::vector<VkPhysicalDevice> handles(count);
  if (result == VK_SUCCESS && count > 0)
    result = vk.vkEnumeratePhysicalDevices(instance->handle_, &count, handles.data());
  if (result != VK_SUCCESS && result != VK_INCOMPLETE)
    return error(FERRY_GPU_UNAVAILABLE, "Vulkan cannot list its devices: %s", result_name(result));
  handles.resize(count);
  if (handles.empty()) return error(FERRY_GPU_UNAVAILABLE, "Vulkan has no device");
  for (VkPhysicalDevice device : handles) instance->devices_.push_back(describe(vk, device));
  shared = instance;
  *out = std::move(instance);
  return {};
}

Status Instance::choose(const char* choice, const DeviceInfo** out) const {
  *out = nullptr;
  const std::string wanted = lower_case(choice != nullptr ? choice : "");
  char* end = nullptr;
  const unsigned long index = std::strtoul(wanted.c_str(), &end, 10);
  const bool is_index = !wanted.empty() && *end == 0;
  for (size_t i = 0; i < devices_.size(); ++i) {
    const DeviceInfo& device = devices_[i];
    const bool fits = wanted.empty() || wanted == "best" || (is_index && index == i) ||
                      (!is_index && lower_case(device.properties.deviceName).find(wanted) != std::string::npos);
    if (!fits) continue;
    const auto better = [](const DeviceInfo& a, const DeviceInfo& b) {
      return rank(a) != rank(b) ? rank(a) < rank(b) : a.memory_bytes > b.memory_bytes;
    };
    if (*out == nullptr || better(device, **out)) *out = &device;
  }
  if (*out == nullptr) {
    std::string names;
    for (const DeviceInfo& d : devices_) names += (names.empty() ? "" : ", ") + std::string(d.properties.deviceName);
    return error(FERRY_GPU_UNAVAILABLE, "no GPU is called '%s'; there are: %s", choice, names.c_str());
  }
  if ((*out)->problem.empty()) return {};
  return error(FERRY_GPU_UNAVAILABLE, "GPU '%s' cannot serve: %s", (*out)->properties.deviceName,
               (*out)->problem.c_str());
}

}  // namespace ferry::gpu
