// A logical device, its one queue, its limits as read, its memory. Shared by sessions and threads.
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

// The multiple of `to` that is `n` or follows it.
constexpr uint64_t aligned(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Kinds of memory that only a device with a feature of their name enabled may allocate.
inline constexpr VkMemoryPropertyFlags kSpecialMemory = VK_MEMORY_PROPERTY_PROTECTED_BIT |
                                                        VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
                                                        VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;

// What a device offers, as it says itself.
struct Limits {
  uint64_t storage_range;     // bytes that one binding may span
  uint64_t offset_alignment;  // of a binding's start; at least 64
  uint64_t max_allocation;    // bytes of one allocation
  uint64_t import_alignment;  // of imported host memory; 0: it cannot be imported
  uint64_t copy_alignment;    // nonCoherentAtomSize
  uint32_t shared_bytes;      // of a workgroup's shared memory
  uint32_t invocations;       // of a workgroup
  uint32_t workgroup_size[3];
  uint32_t workgroup_count[3];  // of a dispatch
  uint32_t subgroup_size;
  bool subgroup_arithmetic;  // subgroupAdd and its like in compute shaders
  bool float16_arithmetic;   // 16-bit floats in shaders, enabled; never on a caller's device
  bool software;             // a CPU in disguise
  bool host_memory;          // the device's memory is the host's: what is imported need not be copied
  double timestamp_ns;       // of one timestamp tick; 0: the queue has no timestamps
  uint64_t timestamp_mask;   // of the bits that count: a tick may wrap around
};

enum class MemoryUse {
  Device,    // device local: arena, weights
  Upload,    // mapped, written by the host in order
  Readback,  // mapped, cached where the device can: the host writes and reads
};

// A buffer with memory of its own. Moves, does not copy.
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
  // Host writes become visible to later submissions; results of completed ones to the host. Nothing to do where memory
  // is coherent.
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

// A caller's own device (ferry/vulkan.h).
struct ExternalDevice {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue;
  uint32_t queue_family;
  void (*lock_queue)(void* user);  // around every use of the queue; null: nobody else uses it
  void (*unlock_queue)(void* user);
  void* user;
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  // Sessions that ask for the same choice share a device while one of them lives. A device that was lost in this
  // process is refused with FERRY_GPU_LOST until `retry`. `cache_folder` null or "": pipelines are not kept on disk;
  // the first to open a device decides.
  static Status open(const char* choice, const char* cache_folder, bool retry, std::shared_ptr<Device>* out);
  static Status adopt(const ExternalDevice& external, const char* cache_folder, std::shared_ptr<Device>* out);
  ~Device();

  VkDevice handle() const { return handle_; }
  const DeviceFunctions& vk() const { return vk_; }
  const DeviceInfo& info() const { return info_; }
  const Limits& limits() const { return limits_; }
  uint32_t queue_family() const { return queue_family_; }
  Pipelines& pipelines() const { return *pipelines_; }

  // Usable as storage buffer and for transfers.
  Status allocate(uint64_t bytes, MemoryUse use, Buffer* out);
  // `memory` and `bytes` at multiples of limits().import_alignment; it outlives the buffer, which is only read. Any
  // error: stage it instead.
  Status import(const void* memory, uint64_t bytes, Buffer* out);
  // The same of any kind of memory. FERRY_UNSUPPORTED: the device or its driver cannot.
  Status import(const MemorySource& source, Buffer* out);
  // Whose such memory is while no kernel reads it, but for the host's: a queue family.
  uint32_t foreign_family() const { return foreign_family_; }

  // Thread-safe. `fence` may be null.
  Status submit(const VkSubmitInfo& info, VkFence fence);
  // Until the fence is signalled. FERRY_GPU_LOST where it never will be.
  Status wait(VkFence fence);

  // Set by whoever sees VK_ERROR_DEVICE_LOST: submit() and wait() do.
  bool lost() const { return lost_; }

 private:
  Device() = default;
  struct Import;
  Status create(const char* cache_folder);
  // *half_arithmetic: its feature is there, and its extension among those chosen.
  Status choose_extensions(std::vector<const char*>* extensions, bool* float16_arithmetic);
  void read_limits(bool can_import);
  Status import_memory(const Import& import, Buffer* out);
  Status import_dma_buf(int fd, uint64_t bytes, Buffer* out);
  Status import_hardware_buffer(AHardwareBuffer* hardware_buffer, uint64_t bytes, Buffer* out);

  std::shared_ptr<const Instance> instance_;  // null where the device is a caller's
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
