// A logical device with one queue, its limits and its memory. Shared by sessions; each method says if it is
// thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sdk/gpu/device/instance.h"
#include "sdk/gpu/device/vulkan.h"
#include "sdk/graph/device_memory.h"

namespace ferry::gpu {

class Pipelines;

// Rounds `n` up to a multiple of `to`.
constexpr uint64_t aligned(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Memory types that require an enabled device feature.
inline constexpr VkMemoryPropertyFlags kSpecialMemory = VK_MEMORY_PROPERTY_PROTECTED_BIT |
                                                        VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                                                        VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;

// The device's limits, as it reports them.
struct Limits {
  uint64_t storage_range;     // bytes per binding
  uint64_t offset_alignment;  // of the start of a binding; at least 64
  uint64_t max_allocation;    // bytes per allocation
  uint64_t import_alignment;  // of imported host memory; 0: import is not supported
  uint64_t copy_alignment;    // nonCoherentAtomSize
  uint32_t shared_bytes;      // shared memory per workgroup
  uint32_t invocations;       // per workgroup
  uint32_t workgroup_size[3];
  uint32_t workgroup_count[3];  // per dispatch
  uint32_t subgroup_size;
  bool subgroup_arithmetic;  // subgroupAdd and related operations in compute shaders
  bool float16_arithmetic;   // 16-bit floats in shaders, enabled; false for a caller's device
  bool software;             // a software rasterizer on the CPU
  bool host_memory;          // the device shares the host's memory: imported memory need not be copied
  double timestamp_ns;       // per timestamp tick; 0: the queue has no timestamps
  uint64_t timestamp_mask;   // valid bits of a timestamp, which may wrap
};

enum class MemoryUse {
  Device,    // device local: arena, weights
  Upload,    // mapped, written sequentially by the host
  Readback,  // mapped, cached if possible: read and written by the host
};

// A buffer with its own memory. Movable, not copyable.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  VkBuffer handle() const { return handle_; }
  const class Device* device() const { return device_.get(); }
  uint64_t bytes() const { return bytes_; }
  std::byte* mapped() const { return mapped_; }  // null for MemoryUse::Device
  // flush(): makes host writes visible to later submissions. invalidate(): makes results of completed submissions
  // visible to the host. No-ops for coherent memory.
  Status flush() const;
  Status invalidate() const;

 private:
  friend class Device;
  std::shared_ptr<class Device> device_;
  VkBuffer handle_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  uint64_t bytes_ = 0;
  std::byte* mapped_ = nullptr;
  bool coherent_ = true;
};

// A device that the caller owns (ferry/vulkan.h).
struct ExternalDevice {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue;
  uint32_t queue_family;
  void (*lock_queue)(void* user);  // called around every use of the queue; null: the queue is not shared
  void (*unlock_queue)(void* user);
  void* user;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  // Sessions that request the same choice share a device while one of them lives. FERRY_GPU_LOST: the device was lost
  // in this process and `retry` is false. `cache_folder`: null or "" disables the pipeline cache; the first caller that
  // opens a device decides.
  static Status open(const char* choice, const char* cache_folder, bool retry, std::shared_ptr<Device>* out);
  static Status adopt(const ExternalDevice& external, const char* cache_folder, std::shared_ptr<Device>* out);
  ~Device();

  VkDevice handle() const { return handle_; }
  const DeviceFunctions& vk() const { return vk_; }
  const DeviceInfo& info() const { return info_; }
  const Limits& limits() const { return limits_; }
  uint32_t queue_family() const { return queue_family_; }
  Pipelines& pipelines() const { return *pipelines_; }

  // The buffer supports storage and transfers.
  Status allocate(uint64_t bytes, MemoryUse use, Buffer* out);
  // Imports host memory. `memory` and `bytes` must be multiples of limits().import_alignment. The memory must outlive
  // the buffer, which is only read. On any error, stage the memory instead.
  Status import(const void* memory, uint64_t bytes, Buffer* out);
  // Imports any kind of memory. FERRY_UNSUPPORTED: the device or its driver cannot.
  Status import(const MemorySource& source, Buffer* out);
  // The queue family that owns imported memory between kernels, except for host memory.
  uint32_t foreign_family() const { return foreign_family_; }

  // Thread-safe. `fence` may be null.
  Status submit(const VkSubmitInfo& info, VkFence fence);
  // Waits until the fence is signalled. FERRY_GPU_LOST: it never will be.
  Status wait(VkFence fence);

  // Set by submit() and wait() when they see VK_ERROR_DEVICE_LOST.
  bool lost() const { return lost_; }

 private:
  Device() = default;
  struct Import;
  Status create(const char* cache_folder);
  // *float16_arithmetic: the feature exists and its extension is among those chosen.
  Status choose_extensions(std::vector<const char*>* extensions, bool* float16_arithmetic);
  void read_limits(bool can_import);
  Status import_memory(const Import& import, Buffer* out);
  Status import_dma_buf(int fd, uint64_t bytes, Buffer* out);
  Status import_hardware_buffer(AHardwareBuffer* hardware_buffer, uint64_t bytes, Buffer* out);

  std::shared_ptr<const Instance> instance_;  // null for a caller's device
  InstanceFunctions functions_{};
  DeviceInfo info_;
  std::string key_;  // in the registry of open devices
  Limits limits_{};
  VkPhysicalDeviceMemoryProperties memory_{};
  VkDevice handle_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t queue_family_ = 0, foreign_family_ = VK_QUEUE_FAMILY_EXTERNAL;
  DeviceFunctions vk_{};
  ExternalDevice external_{};
  std::mutex queue_mutex_;
  std::atomic<bool> lost_ = false;
  std::unique_ptr<Pipelines> pipelines_;
};

}  // namespace ferry::gpu
