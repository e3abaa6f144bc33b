// Misuses Vulkan on purpose, to check that the validation layer is loaded and its messages are seen:
//
// vulkan_misuse none           no error
// vulkan_misuse error          a device is destroyed before its buffer
// vulkan_misuse hazard         two writes in one command buffer without a barrier
// vulkan_misuse submit_hazard  two writes in two submissions without a barrier or a wait
//
// On every device; exit code 0 unless Vulkan itself fails.
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr VkDeviceSize kBytes = 4096;

void require(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  std::printf("%s: VkResult %d\n", what, result);
  std::exit(1);
}

void misuse(VkPhysicalDevice physical, const std::string& mode) {
  VkPhysicalDeviceProperties properties;
  vkGetPhysicalDeviceProperties(physical, &properties);
  std::printf("%s\n", properties.deviceName);

  const float priority = 1;
  const VkDeviceQueueCreateInfo queue_info{
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  const VkDeviceCreateInfo device_info{
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue_info};
  VkDevice device;
  require(vkCreateDevice(physical, &device_info, nullptr, &device), "vkCreateDevice");
  volkLoadDevice(device);
  VkQueue queue;
  vkGetDeviceQueue(device, 0, 0, &queue);

  const VkBufferCreateInfo buffer_info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = kBytes, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkBuffer buffer;
  require(vkCreateBuffer(device, &buffer_info, nullptr, &buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, buffer, &needs);
  const VkMemoryAllocateInfo memory_info{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = uint32_t(std::countr_zero(needs.memoryTypeBits))};
  VkDeviceMemory memory;
  require(vkAllocateMemory(device, &memory_info, nullptr, &memory), "vkAllocateMemory");
  require(vkBindBufferMemory(device, buffer, memory, 0), "vkBindBufferMemory");

  const VkCommandPoolCreateInfo pool_info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  VkCommandPool pool;
  require(vkCreateCommandPool(device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
  const VkCommandBufferAllocateInfo commands_info{
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 2};
  VkCommandBuffer commands[2];
  require(vkAllocateCommandBuffers(device, &commands_info, commands), "vkAllocateCommandBuffers");
  for (VkCommandBuffer c : commands) {
    const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    require(vkBeginCommandBuffer(c, &begin), "vkBeginCommandBuffer");
    for (int write = 0; write < (mode == "hazard" ? 2 : 1); ++write) vkCmdFillBuffer(c, buffer, 0, kBytes, 1);
    require(vkEndCommandBuffer(c), "vkEndCommandBuffer");
    const VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &c};
    require(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    if (mode != "submit_hazard") require(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
  }
  require(vkQueueWaitIdle(queue), "vkQueueWaitIdle");

  vkDestroyCommandPool(device, pool, nullptr);
  if (mode != "error") vkDestroyBuffer(device, buffer, nullptr);
  vkFreeMemory(device, memory, nullptr);
  vkDestroyDevice(device, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  require(volkInitialize(), "volkInitialize");
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
  const VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  VkInstance instance;
  require(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
  volkLoadInstance(instance);
  uint32_t count = 0;
  require(vkEnumeratePhysicalDevices(instance, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> devices(count);
  require(vkEnumeratePhysicalDevices(instance, &count, devices.data()), "vkEnumeratePhysicalDevices");
  for (VkPhysicalDevice device : devices) misuse(device, argc > 1 ? argv[1] : "none");
  vkDestroyInstance(instance, nullptr);
}
