#include "sdk/gpu/device/device.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <map>
#include <new>
#include <set>
#include <vector>

#include "sdk/attempt.h"
#include "sdk/gpu/device/pipelines.h"

namespace ferry::gpu {
namespace {

constexpr Status::Failure kLost = {FERRY_GPU_LOST, "the GPU was lost"};

// Devices of this process: those in use, and those that were lost.
struct Registry {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Device>> open;
  std::set<std::string> lost;
};
Registry& registry() {
  static Registry* all = new Registry;  // never destroyed: sessions may end after static objects
  return *all;
}

// `index` distinguishes identical devices.
std::string identity(const DeviceInfo& info, size_t index) {
  char text[64];
  std::snprintf(text, sizeof text, "%zu:%x:%x:", index, info.properties.vendorID, info.properties.deviceID);
  return text + std::string(info.properties.deviceName);
}

}  // namespace

// ---- Buffer ---------------------------------------------------------------------------------------------------------

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(memory_, other.memory_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  std::swap(coherent_, other.coherent_);
  return *this;
}

Buffer::~Buffer() {
  if (device_ == nullptr) return;
  const DeviceFunctions& vk = device_->vk();
  vk.vkDestroyBuffer(device_->handle(), handle_, nullptr);
  vk.vkFreeMemory(device_->handle(), memory_, nullptr);  // also unmaps
}

Status Buffer::flush() const {
  if (coherent_ || mapped_ == nullptr) return {};
  const VkMappedMemoryRange range{
      .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = memory_, .size = VK_WHOLE_SIZE};
  return check(device_->vk().vkFlushMappedMemoryRanges(device_->handle(), 1, &range), "vkFlushMappedMemoryRanges");
}

Status Buffer::invalidate() const {
  if (coherent_ || mapped_ == nullptr) return {};
  const VkMappedMemoryRange range{
      .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = memory_, .size = VK_WHOLE_SIZE};
  return check(device_->vk().vkInvalidateMappedMemoryRanges(device_->handle(), 1, &range),
               "vkInvalidateMappedMemoryRanges");
}

// ---- Device ---------------------------------------------------------------------------------------------------------

Status Device::open(const char* choice, const char* cache_folder, bool retry, std::shared_ptr<Device>* out) {
  out->reset();
  std::shared_ptr<const Instance> instance;
  FERRY_TRY(Instance::open(&instance));
  const DeviceInfo* info = nullptr;
  FERRY_TRY(instance->choose(choice, &info));

  const std::string key = identity(*info, static_cast<size_t>(info - instance->devices().data()));
  Registry& all = registry();
  std::shared_ptr<Device> former, device;  // destroyed after the lock is released, since ~Device() takes it
  const std::lock_guard lock(all.mutex);
  device = all.open[key].lock();
  if (device != nullptr && device->lost()) {
    all.lost.insert(key);
    former = std::move(device);
  }
  if (retry) all.lost.erase(key);
  if (all.lost.contains(key))
    return error(FERRY_GPU_LOST, "GPU '%s' was lost in this process; gpu_retry tries it again",
                 info->properties.deviceName);
  if (device == nullptr) {
    device.reset(new Device);
    device->instance_ = std::move(instance);
    device->functions_ = device->instance_->functions();
    device->info_ = *info;
    device->key_ = key;
    FERRY_TRY(device->create(cache_folder));
    all.open[key] = device;
  }
  *out = std::move(device);
  return {};
}

Status Device::adopt(const ExternalDevice& external, const char* cache_folder, std::shared_ptr<Device>* out) {
  out->reset();
  std::shared_ptr<Device> device(new Device);
  FERRY_TRY(InstanceFunctions::load(external.get_instance_proc_addr, external.instance, &device->functions_));
  device->external_ = external;
  device->info_ = describe(device->functions_, external.physical_device);
  if (!device->info_.problem.empty())
    return error(FERRY_GPU_UNAVAILABLE, "GPU '%s' cannot serve: %s", device->info_.properties.deviceName,
                 device->info_.problem.c_str());
  FERRY_TRY(device->create(cache_folder));
  *out = std::move(device);
  return {};
}

Device::~Device() {
  pipelines_.reset();
  if (vk_.vkDestroyDevice != nullptr && external_.device == VK_NULL_HANDLE) vk_.vkDestroyDevice(handle_, nullptr);
  if (!lost_ || external_.device != VK_NULL_HANDLE) return;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  // A session with gpu_retry may have opened it again meanwhile.
  const auto latest = all.open.find(key_);
  if (latest == all.open.end() || latest->second.owner_before(weak_from_this()) ||
      weak_from_this().owner_before(latest->second))
    return;
  (void)attempt([&]() -> Status {  // without memory it is not recorded; the next use finds the loss again
    all.lost.insert(key_);
    return {};
  });
}

// Chooses the extensions for memory import, host memory first, and for 16-bit floats in shaders.
Status Device::choose_extensions(std::vector<const char*>* extensions, bool* float16_arithmetic) {
  uint32_t count = 0;
  FERRY_TRY(check(functions_.vkEnumerateDeviceExtensionProperties(info_.handle, nullptr, &count, nullptr),
                  "vkEnumerateDeviceExtensionProperties"));
  std::vector<VkExtensionProperties> present(count);
  FERRY_TRY(check(functions_.vkEnumerateDeviceExtensionProperties(info_.handle, nullptr, &count, present.data()),
                  "vkEnumerateDeviceExtensionProperties"));
  const auto has = [&](const char* name) {
    return std::any_of(present.begin(), present.end(),
                       [&](const VkExtensionProperties& p) { return std::strcmp(p.extensionName, name) == 0; });
  };
  // All of a list, or none.
  const auto enable = [&](std::initializer_list<const char*> names) {
    if (!std::all_of(names.begin(), names.end(), has)) return false;
    extensions->insert(extensions->end(), names.begin(), names.end());
    return true;
  };
  enable({VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME});
  enable({VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME});
  const bool foreign = enable({VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME});
  if (foreign) {
    foreign_family_ = VK_QUEUE_FAMILY_FOREIGN_EXT;
    enable({VK_ANDROID_EXTERNAL_MEMORY_ANDROID_HARDWARE_BUFFER_EXTENSION_NAME});
  }
  if (!has(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME)) return {};
  VkPhysicalDeviceShaderFloat16Int8Features float16s{};
  float16s.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
  VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &float16s};
  functions_.vkGetPhysicalDeviceFeatures2(info_.handle, &features);
  *float16_arithmetic = float16s.shaderFloat16 == VK_TRUE && enable({VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME});
  return {};
}

Status Device::create(const char* cache_folder) {
  functions_.vkGetPhysicalDeviceMemoryProperties(info_.handle, &memory_);
  bool can_import = false;
  if (external_.device != VK_NULL_HANDLE) {
    handle_ = external_.device;
    queue_family_ = external_.queue_family;
  } else {
    const std::vector<VkQueueFamilyProperties> families = queue_families(functions_, info_.handle);
    // A compute-only family leaves the application's rendering undisturbed.
    int best = -1;
    for (size_t i = 0; i < families.size(); ++i) {
      if (families[i].queueCount == 0 || !(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
      if (best < 0 || !(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT)) best = static_cast<int>(i);
    }
    if (best < 0) return error(FERRY_GPU_UNAVAILABLE, "GPU '%s' has no compute queue", info_.properties.deviceName);
    queue_family_ = static_cast<uint32_t>(best);

    std::vector<const char*> extensions;
    FERRY_TRY(choose_extensions(&extensions, &limits_.float16_arithmetic));
    VkPhysicalDeviceShaderFloat16Int8Features float16s{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES, .shaderFloat16 = VK_TRUE};
    can_import = !extensions.empty() && std::strcmp(extensions[0], VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) == 0;
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                        .queueFamilyIndex = queue_family_,
                                        .queueCount = 1,
                                        .pQueuePriorities = &priority};
    const VkDeviceCreateInfo create{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                    .pNext = limits_.float16_arithmetic ? &float16s : nullptr,
                                    .queueCreateInfoCount = 1,
                                    .pQueueCreateInfos = &queue,
                                    .enabledExtensionCount = static_cast<uint32_t>(extensions.size()),
                                    .ppEnabledExtensionNames = extensions.data()};
    if (Status status = check(functions_.vkCreateDevice(info_.handle, &create, nullptr, &handle_), "vkCreateDevice");
        !status.ok()) {
      handle_ = VK_NULL_HANDLE;
      return status;
    }
  }
  FERRY_TRY(DeviceFunctions::load(functions_.vkGetDeviceProcAddr, handle_, &vk_));
  if (external_.device != VK_NULL_HANDLE) {
    queue_ = external_.queue;
  } else {
    vk_.vkGetDeviceQueue(handle_, queue_family_, 0, &queue_);
  }
  read_limits(can_import);
  pipelines_ = std::make_unique<Pipelines>(*this);
  return pipelines_->create(cache_folder);
}

void Device::read_limits(bool can_import) {
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT import{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
  VkPhysicalDeviceMaintenance3Properties allocation{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
                                                    .pNext = can_import ? &import : nullptr};
  VkPhysicalDeviceSubgroupProperties subgroup{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                              .pNext = &allocation};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
  functions_.vkGetPhysicalDeviceProperties2(info_.handle, &properties);
  const VkPhysicalDeviceLimits& l = properties.properties.limits;
  limits_.storage_range = l.maxStorageBufferRange;
  limits_.offset_alignment = std::max<uint64_t>(l.minStorageBufferOffsetAlignment, 64);
  limits_.max_allocation = allocation.maxMemoryAllocationSize;
  limits_.import_alignment = can_import ? import.minImportedHostPointerAlignment : 0;
  limits_.copy_alignment = l.nonCoherentAtomSize;
  limits_.shared_bytes = l.maxComputeSharedMemorySize;
  limits_.invocations = l.maxComputeWorkGroupInvocations;
  std::copy_n(l.maxComputeWorkGroupSize, 3, limits_.workgroup_size);
  std::copy_n(l.maxComputeWorkGroupCount, 3, limits_.workgroup_count);
  limits_.subgroup_size = subgroup.subgroupSize;
  limits_.subgroup_arithmetic = (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                                (subgroup.supportedOperations & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT) != 0;
  limits_.software = properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  limits_.host_memory = limits_.software || properties.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  const std::vector<VkQueueFamilyProperties> families = queue_families(functions_, info_.handle);
  const uint32_t bits = queue_family_ < families.size() ? families[queue_family_].timestampValidBits : 0;
  limits_.timestamp_ns = bits > 0 ? static_cast<double>(l.timestampPeriod) : 0;
  limits_.timestamp_mask = bits < 64 ? (uint64_t{1} << bits) - 1 : UINT64_MAX;
}

// Memory types in order of preference; each entry asks for fewer properties than the one before.
Status Device::allocate(uint64_t bytes, MemoryUse use, Buffer* out) {
  const VkBufferCreateInfo create{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .size = bytes,
                                  .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                           VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  if (bytes > limits_.max_allocation)
    return error(FERRY_OUT_OF_MEMORY, "%" PRIu64 " bytes at once; GPU '%s' allocates %" PRIu64, bytes,
                 info_.properties.deviceName, limits_.max_allocation);
  Buffer buffer;
  buffer.device_ = shared_from_this();
  buffer.bytes_ = bytes;
  FERRY_TRY(check(vk_.vkCreateBuffer(handle_, &create, nullptr, &buffer.handle_), "vkCreateBuffer"));
  VkMemoryRequirements needs{};
  vk_.vkGetBufferMemoryRequirements(handle_, buffer.handle_, &needs);

  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags kMapped = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
  constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  std::vector<VkMemoryPropertyFlags> wishes;
  if (use == MemoryUse::Device) wishes = {kLocal, 0};
  if (use == MemoryUse::Upload) wishes = {kMapped | kCoherent, kMapped};
  if (use == MemoryUse::Readback)
    wishes = {kMapped | kCached | kCoherent, kMapped | kCached, kMapped | kCoherent, kMapped};
  Status status =
      error(FERRY_OUT_OF_MEMORY, "GPU '%s' has no memory of the required type", info_.properties.deviceName);
  for (const VkMemoryPropertyFlags wish : wishes) {
    for (uint32_t type = 0; type < memory_.memoryTypeCount; ++type) {
      const VkMemoryPropertyFlags flags = memory_.memoryTypes[type].propertyFlags;
      if (!(needs.memoryTypeBits >> type & 1) || (flags & wish) != wish || (flags & kSpecialMemory)) continue;
      if (needs.size > memory_.memoryHeaps[memory_.memoryTypes[type].heapIndex].size) continue;
      const VkMemoryAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                          .allocationSize = aligned(needs.size, limits_.copy_alignment),
                                          .memoryTypeIndex = type};
      status = check(vk_.vkAllocateMemory(handle_, &allocate, nullptr, &buffer.memory_), "vkAllocateMemory");
      if (!status.ok()) {
        buffer.memory_ = VK_NULL_HANDLE;
        if (status.code() != FERRY_OUT_OF_MEMORY) return status;
        continue;  // another heap may have room
      }
      FERRY_TRY(check(vk_.vkBindBufferMemory(handle_, buffer.handle_, buffer.memory_, 0), "vkBindBufferMemory"));
      buffer.coherent_ = (flags & kCoherent) != 0;
      if (use != MemoryUse::Device) {
        void* mapped = nullptr;
        FERRY_TRY(check(vk_.vkMapMemory(handle_, buffer.memory_, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory"));
        buffer.mapped_ = static_cast<std::byte*>(mapped);
      }
      *out = std::move(buffer);
      return {};
    }
  }
  return status;
}

Status Device::submit(const VkSubmitInfo& info, VkFence fence) {
  if (lost_) return Status(kLost);
  const std::lock_guard lock(queue_mutex_);
  if (external_.lock_queue != nullptr) external_.lock_queue(external_.user);
  const VkResult result = vk_.vkQueueSubmit(queue_, 1, &info, fence);
  if (external_.unlock_queue != nullptr) external_.unlock_queue(external_.user);
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  return check(result, "vkQueueSubmit");
}

Status Device::wait(VkFence fence) {
  const VkResult result = vk_.vkWaitForFences(handle_, 1, &fence, VK_TRUE, UINT64_MAX);
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  return check(result, "vkWaitForFences");
}

}  // namespace ferry::gpu
