// Imports memory as a buffer.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstring>

#include "sdk/gpu/device/device.h"

namespace ferry::gpu {

// The memory to import, and the driver's description of it.
struct Device::Import {
  VkExternalMemoryHandleTypeFlagBits type;
  uint32_t memory_types;
  uint64_t bytes, allocation;        // of the buffer; of the whole memory
  const void* info;                  // for vkAllocateMemory()
  VkMemoryPropertyFlags wanted = 0;  // properties of the memory type
  bool dedicated = false;            // allocation dedicated to the buffer
  int* file = nullptr;               // ownership passes to the memory: then -1
};

Status Device::import_memory(const Import& import, Buffer* out) {
  const VkExternalMemoryBufferCreateInfo external{
      .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
      .handleTypes = static_cast<VkExternalMemoryHandleTypeFlags>(import.type)};
  const VkBufferCreateInfo create{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .pNext = &external,
                                  .size = import.bytes,
                                  .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT};
  Buffer buffer;
  buffer.device_ = shared_from_this();
  buffer.bytes_ = import.bytes;
  FERRY_TRY(check(vk_.vkCreateBuffer(handle_, &create, nullptr, &buffer.handle_), "vkCreateBuffer"));
  VkMemoryRequirements needs{};
  vk_.vkGetBufferMemoryRequirements(handle_, buffer.handle_, &needs);
  uint32_t types = needs.memoryTypeBits & import.memory_types;
  for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory_.memoryTypes[i].propertyFlags;
    if ((flags & kSpecialMemory) || (flags & import.wanted) != import.wanted) types &= ~(1u << i);
  }
  if (types == 0 || needs.size > import.allocation)
    return error(FERRY_UNSUPPORTED, "GPU '%s' does not import this memory", info_.properties.deviceName);
  uint32_t type = 0;
  while (!(types >> type & 1)) ++type;
  const VkMemoryDedicatedAllocateInfo dedicated{
      .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .pNext = import.info, .buffer = buffer.handle_};
  const VkMemoryAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                      .pNext = import.dedicated ? &dedicated : import.info,
                                      .allocationSize = import.allocation,
                                      .memoryTypeIndex = type};
  if (Status status = check(vk_.vkAllocateMemory(handle_, &allocate, nullptr, &buffer.memory_), "vkAllocateMemory");
      !status.ok()) {
    buffer.memory_ = VK_NULL_HANDLE;
    return status;
  }
  if (import.file != nullptr) *import.file = -1;
  FERRY_TRY(check(vk_.vkBindBufferMemory(handle_, buffer.handle_, buffer.memory_, 0), "vkBindBufferMemory"));
  *out = std::move(buffer);
  return {};
}

Status Device::import(const void* memory, uint64_t bytes, Buffer* out) {
  void* host = const_cast<void*>(memory);  // kernels only read it
  constexpr auto kType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  const uint64_t alignment = limits_.import_alignment;
  if (alignment == 0 || vk_.vkGetMemoryHostPointerPropertiesEXT == nullptr)
    return error(FERRY_UNSUPPORTED, "GPU '%s' does not import host memory", info_.properties.deviceName);
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0 || bytes % alignment != 0)
    return error(FERRY_INVALID_ARGUMENT, "%" PRIu64 " bytes at %p: GPU '%s' imports multiples of %" PRIu64, bytes,
                 memory, info_.properties.deviceName, alignment);
  VkMemoryHostPointerPropertiesEXT pointer{.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  FERRY_TRY(check(vk_.vkGetMemoryHostPointerPropertiesEXT(handle_, kType, host, &pointer),
                  "vkGetMemoryHostPointerPropertiesEXT"));
  const VkImportMemoryHostPointerInfoEXT info{
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, .handleType = kType, .pHostPointer = host};
  // Coherent, since it is never mapped and cannot be flushed.
  return import_memory({kType, pointer.memoryTypeBits, bytes, bytes, &info, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT}, out);
}

Status Device::import_dma_buf(int fd, uint64_t bytes, Buffer* out) {
  constexpr auto kType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
  if (vk_.vkGetMemoryFdPropertiesKHR == nullptr)
    return error(FERRY_UNSUPPORTED, "GPU '%s' does not import dma-bufs", info_.properties.deviceName);
  const off_t end = lseek(fd, 0, SEEK_END);
  if (end < 0 || static_cast<uint64_t>(end) < bytes)
    return error(FERRY_INVALID_ARGUMENT, "file %d is no dma-buf of %" PRIu64 " bytes", fd, bytes);
  VkMemoryFdPropertiesKHR properties{.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
  FERRY_TRY(check(vk_.vkGetMemoryFdPropertiesKHR(handle_, kType, fd, &properties), "vkGetMemoryFdPropertiesKHR"));
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return error(FERRY_IO_ERROR, "file %d: cannot be duplicated: %s", fd, std::strerror(errno));
  const VkImportMemoryFdInfoKHR info{
      .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .handleType = kType, .fd = own};
  Status status = import_memory({kType, properties.memoryTypeBits, aligned(bytes, sizeof(uint32_t)),
                                 static_cast<uint64_t>(end), &info, 0, false, &own},
                                out);
  if (own >= 0) close(own);
  return status;
}

Status Device::import_hardware_buffer(AHardwareBuffer* hardware_buffer, uint64_t bytes, Buffer* out) {
  constexpr auto kType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID;
  if (vk_.vkGetAndroidHardwareBufferPropertiesANDROID == nullptr)
    return error(FERRY_UNSUPPORTED, "GPU '%s' does not import hardware buffers", info_.properties.deviceName);
  VkAndroidHardwareBufferPropertiesANDROID properties{.sType =
                                                          VK_STRUCTURE_TYPE_ANDROID_HARDWARE_BUFFER_PROPERTIES_ANDROID};
  FERRY_TRY(check(vk_.vkGetAndroidHardwareBufferPropertiesANDROID(handle_, hardware_buffer, &properties),
                  "vkGetAndroidHardwareBufferPropertiesANDROID"));
  const VkImportAndroidHardwareBufferInfoANDROID info{
      .sType = VK_STRUCTURE_TYPE_IMPORT_ANDROID_HARDWARE_BUFFER_INFO_ANDROID, .buffer = hardware_buffer};
  return import_memory(
      {kType, properties.memoryTypeBits, aligned(bytes, sizeof(uint32_t)), properties.allocationSize, &info, 0, true},
      out);
}

Status Device::import(const MemorySource& source, Buffer* out) {
  switch (source.kind) {
    case MemorySource::Kind::DmaBuf: return import_dma_buf(source.fd, source.bytes, out);
    case MemorySource::Kind::HardwareBuffer:
      return import_hardware_buffer(static_cast<AHardwareBuffer*>(source.address), source.bytes, out);
    case MemorySource::Kind::Host: break;
  }
  return import(source.address, source.bytes, out);
}

}  // namespace ferry::gpu
