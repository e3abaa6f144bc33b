// An app's own Vulkan objects: instance, device, queue, buffers, as an app with a renderer has them.
#pragma once

#include "sdk/gpu/device/vulkan.h"
// After volk.h: functions are loaded at run time.
#include <ferry/vulkan.h>
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "tests/runtime/networks.h"

namespace ferry::testing {

#define EXPECT_VK(call) EXPECT_EQ(call, VK_SUCCESS)

class AppDevice {
 public:
  // The device whose name contains `name`.
  explicit AppDevice(const std::string& name) {
    EXPECT_VK(volkInitialize());
    const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo create{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                      .pApplicationInfo = &application};
    EXPECT_VK(vkCreateInstance(&create, nullptr, &instance));
    volkLoadInstance(instance);
    uint32_t count = 16;
    VkPhysicalDevice devices[16];
    EXPECT_VK(vkEnumeratePhysicalDevices(instance, &count, devices));
    for (uint32_t i = 0; i < count; ++i) {
      VkPhysicalDeviceProperties properties;
      vkGetPhysicalDeviceProperties(devices[i], &properties);
      if (std::strstr(properties.deviceName, name.c_str()) != nullptr) physical = devices[i];
    }
    EXPECT_NE(physical, nullptr) << "no device is called " << name;
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue_info{
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const VkDeviceCreateInfo device_info{
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info};
    EXPECT_VK(vkCreateDevice(physical, &device_info, nullptr, &device));
    vkGetDeviceQueue(device, 0, 0, &queue);
    const VkCommandPoolCreateInfo pool_info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    EXPECT_VK(vkCreateCommandPool(device, &pool_info, nullptr, &pool_));
  }
  ~AppDevice() {
    EXPECT_VK(vkDeviceWaitIdle(device));
    for (VkSemaphore semaphore : semaphores_) vkDestroySemaphore(device, semaphore, nullptr);
    for (VkFence fence : fences_) vkDestroyFence(device, fence, nullptr);
    for (VkBuffer buffer : buffers_) vkDestroyBuffer(device, buffer, nullptr);
    for (VkDeviceMemory memory : memories_) vkFreeMemory(device, memory, nullptr);
    vkDestroyCommandPool(device, pool_, nullptr);
    vkDestroyDevice(device, nullptr);
    vkDestroyInstance(instance, nullptr);
  }
  AppDevice(const AppDevice&) = delete;
  AppDevice& operator=(const AppDevice&) = delete;

  // Mapped and coherent.
  struct Floats {
    VkBuffer buffer = VK_NULL_HANDLE;
    float* values = nullptr;
    VkDeviceSize bytes = 0;
  };
  Floats floats(size_t count) {
    Floats out;
    out.bytes = count * sizeof(float);
    const VkBufferCreateInfo buffer_info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                         .size = out.bytes,
                                         .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                                  VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    EXPECT_VK(vkCreateBuffer(device, &buffer_info, nullptr, &out.buffer));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, out.buffer, &needs);
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(physical, &memory);
    constexpr VkMemoryPropertyFlags kWanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    while (!(needs.memoryTypeBits >> type & 1) || (memory.memoryTypes[type].propertyFlags & kWanted) != kWanted) ++type;
    const VkMemoryAllocateInfo allocate{
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
    VkDeviceMemory of_buffer;
    EXPECT_VK(vkAllocateMemory(device, &allocate, nullptr, &of_buffer));
    EXPECT_VK(vkBindBufferMemory(device, out.buffer, of_buffer, 0));
    void* mapped = nullptr;
    EXPECT_VK(vkMapMemory(device, of_buffer, 0, VK_WHOLE_SIZE, 0, &mapped));
    out.values = static_cast<float*>(mapped);
    buffers_.push_back(out.buffer);
    memories_.push_back(of_buffer);
    return out;
  }

  VkSemaphore semaphore() {
    const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
    EXPECT_VK(vkCreateSemaphore(device, &info, nullptr, &semaphores_.emplace_back()));
    return semaphores_.back();
  }
  VkFence fence() {
    const VkFenceCreateInfo info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    EXPECT_VK(vkCreateFence(device, &info, nullptr, &fences_.emplace_back()));
    return fences_.back();
  }

  // Submits a copy and returns: the app's own work on the queue. Either semaphore may be null.
  void copy(const Floats& from, const Floats& to, VkSemaphore wait, VkSemaphore signal) {
    const VkCommandBufferAllocateInfo allocate{
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool_, .commandBufferCount = 1};
    VkCommandBuffer commands;
    EXPECT_VK(vkAllocateCommandBuffers(device, &allocate, &commands));
    const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    EXPECT_VK(vkBeginCommandBuffer(commands, &begin));
    const VkBufferCopy region{.size = from.bytes};
    vkCmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
    const VkMemoryBarrier to_host{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                  .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0,
                         nullptr, 0, nullptr);
    EXPECT_VK(vkEndCommandBuffer(commands));
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                              .waitSemaphoreCount = wait != VK_NULL_HANDLE ? 1u : 0u,
                              .pWaitSemaphores = &wait,
                              .pWaitDstStageMask = &stage,
                              .commandBufferCount = 1,
                              .pCommandBuffers = &commands,
                              .signalSemaphoreCount = signal != VK_NULL_HANDLE ? 1u : 0u,
                              .pSignalSemaphores = &signal};
    EXPECT_VK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
  }

  ferry_vulkan_device described() {
    ferry_vulkan_device out{};
    out.struct_size = sizeof out;
    out.instance = instance;
    out.physical_device = physical;
    out.device = device;
    out.queue = queue;
    out.get_instance_proc_addr = vkGetInstanceProcAddr;
    out.lock_queue = [](void* self) { static_cast<AppDevice*>(self)->mutex_.lock(); };
    out.unlock_queue = [](void* self) {
      ++static_cast<AppDevice*>(self)->submissions;
      static_cast<AppDevice*>(self)->mutex_.unlock();
    };
    out.user = this;
    return out;
  }
  // For options.gpu; closed by the test.
  ferry_gpu* open() {
    const ferry_vulkan_device device_description = described();
    ferry_gpu* gpu = nullptr;
    EXPECT_EQ(ferry_gpu_open_vulkan(&device_description, &gpu), FERRY_OK) << ferry_last_error();
    return gpu;
  }

  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  int submissions = 0;  // by ferry, through the lock

 private:
  std::mutex mutex_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkBuffer> buffers_;
  std::vector<VkDeviceMemory> memories_;
  std::vector<VkSemaphore> semaphores_;
  std::vector<VkFence> fences_;
};

// A session on the app's device that runs entirely on the GPU.
inline SessionPtr make_session_on(ferry_model* model, ferry_gpu* gpu) {
  ferry_session_options options = default_options();
  options.backend = FERRY_BACKEND_GPU;
  options.gpu_required = true;
  options.gpu = gpu;
  options.num_threads = 1;
  SessionPtr session = make_session(model, options);
  ferry_report report{};
  report.struct_size = sizeof report;
  EXPECT_OK(ferry_session_report(session.get(), &report));
  EXPECT_EQ(report.cpu_operators, 0u);
  return session;
}

}  // namespace ferry::testing
