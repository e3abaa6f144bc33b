#include "tests/gpu/fault_layer/fault_layer.h"

#include <sys/mman.h>
#include <vulkan/vk_layer.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/gpu/fault_layer/corruption.h"
#include "tests/gpu/fault_layer/functions.h"

namespace {

// ---- what the test asks for, and what is seen -----------------------------------------------------------------------

// The loader's dispatch table: an instance, a device and their objects begin with its address.
using Key = const void*;
template <typename Dispatchable>
Key key_of(Dispatchable handle) {
  return *reinterpret_cast<const void* const*>(handle);
}

// The next layer or driver.
struct Chain {
  PFN_vkGetInstanceProcAddr instance_functions = nullptr;
  PFN_vkGetDeviceProcAddr device_functions = nullptr;  // null for an instance
  VkInstance instance = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  uint32_t quirks = 0;
  // Every wrapped function, resolved at creation: later the loader returns its own, which lead back here.
  std::map<std::string_view, PFN_vkVoidFunction> functions;
};

struct State {
  std::mutex mutex;
  std::shared_mutex calling;  // held by every wrapped call
  std::map<Key, Chain> chains;
  uint32_t armed = UINT32_MAX;
  VkResult result = VK_SUCCESS;
  bool fired = false;
  std::vector<const char*> calls;
  std::set<Key> lost;
  uint32_t quirks = 0;
  std::map<std::string, uint32_t> live;  // by type
  std::map<VkDeviceMemory, uint64_t> memory;
  std::string list;
  fault::Corruption corruption;
};
State& state() {
  static State* all = new State;  // never destroyed: drivers may call while the process exits
  return *all;
}

const Chain& chain_of(Key key) {
  const std::lock_guard lock(state().mutex);
  return state().chains.at(key);
}

// The next layer's or the driver's function of that name.
template <typename Function>
Function next(Key key, const char* name) {
  return reinterpret_cast<Function>(chain_of(key).functions.at(name));
}

void add_chain(Chain chain);
void destroy_corrupter(VkDevice device);

// Counts the call and returns the failure to simulate, or VK_SUCCESS. `key` is null without an instance or device.
// *lost: a lost device, which must be idle before the caller continues, because a caller that finds it lost destroys
// what it submitted.
VkResult fault(Key key, const char* name, VkDevice* lost = nullptr) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const uint32_t n = static_cast<uint32_t>(s.calls.size());
  s.calls.push_back(name);
  if (s.lost.contains(key)) {
    if (lost != nullptr) *lost = s.chains.at(key).device;
    return VK_ERROR_DEVICE_LOST;
  }
  if (n != s.armed) return VK_SUCCESS;
  s.fired = true;
  if (s.result != VK_ERROR_DEVICE_LOST || key == nullptr || s.chains.at(key).device == VK_NULL_HANDLE) return s.result;
  s.lost.insert(key);
  *lost = s.chains.at(key).device;
  return s.result;
}

void add_live(const char* type, int change) {
  const std::lock_guard lock(state().mutex);
  state().live[type] += static_cast<uint32_t>(change);
}

// ---- generic wrappers -----------------------------------------------------------------------------------------------

// A name as a template argument.
template <size_t N>
struct Name {
  char text[N];
  constexpr Name(const char (&from)[N]) { std::copy_n(from, N, text); }
};

template <Name name, typename Function>
struct Call;

// Any function that returns a VkResult.
template <Name name, typename First, typename... Rest>
struct Call<name, VkResult (*)(First, Rest...)> {
  static VkResult run(First first, Rest... rest) {
    std::shared_lock calling(state().calling);
    VkDevice lost = VK_NULL_HANDLE;
    const VkResult failure = fault(key_of(first), name.text, &lost);
    if (failure == VK_SUCCESS) return next<VkResult (*)(First, Rest...)>(key_of(first), name.text)(first, rest...);
    if (lost != VK_NULL_HANDLE) {
      // A lost device does nothing any more; this waits for what other threads have just submitted.
      calling.unlock();
      const std::unique_lock alone(state().calling);
      next<PFN_vkDeviceWaitIdle>(key_of(first), "vkDeviceWaitIdle")(lost);
    }
    return failure;
  }
};

// One that creates an object, its last parameter.
template <Name name, Name type, typename Function>
struct Create;
template <Name name, Name type, typename... Arguments>
struct Create<name, type, VkResult (*)(Arguments...)> {
  static VkResult run(Arguments... arguments) {
    const VkResult result = Call<name, VkResult (*)(Arguments...)>::run(arguments...);
    if (result == VK_SUCCESS) add_live(type.text, 1);
    return result;
  }
};

// One that destroys an object, its second parameter.
template <Name name, Name type, typename Function>
struct Destroy;
template <Name name, Name type, typename Object>
struct Destroy<name, type, void (*)(VkDevice, Object, const VkAllocationCallbacks*)> {
  static void run(VkDevice device, Object object, const VkAllocationCallbacks* allocator) {
    if (object != VK_NULL_HANDLE) add_live(type.text, -1);
    next<void (*)(VkDevice, Object, const VkAllocationCallbacks*)>(key_of(device), name.text)(device, object,
                                                                                              allocator);
  }
};

// ---- functions with something of their own --------------------------------------------------------------------------

template <typename CreateInfo, typename LayerInfo>
LayerInfo* link_of(const CreateInfo* info, VkStructureType type) {
  auto* link = static_cast<LayerInfo*>(const_cast<void*>(info->pNext));
  while (link && !(link->sType == type && link->function == VK_LAYER_LINK_INFO))
    link = static_cast<LayerInfo*>(const_cast<void*>(link->pNext));
  return link;
}

VkResult create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator, VkInstance* out) {
  if (const VkResult failure = fault(nullptr, "vkCreateInstance"); failure != VK_SUCCESS) return failure;
  auto* link =
      link_of<VkInstanceCreateInfo, VkLayerInstanceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  const PFN_vkGetInstanceProcAddr functions = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(functions(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, allocator, out);
  if (result != VK_SUCCESS) return result;
  add_live("VkInstance", 1);
  add_chain({.instance_functions = functions, .instance = *out, .quirks = state().quirks});
  return result;
}

void destroy_instance(VkInstance instance, const VkAllocationCallbacks* allocator) {
  if (instance == VK_NULL_HANDLE) return;
  const Key key = key_of(instance);
  next<PFN_vkDestroyInstance>(key, "vkDestroyInstance")(instance, allocator);
  add_live("VkInstance", -1);
  const std::lock_guard lock(state().mutex);
  state().chains.erase(key);
}

VkResult create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                       const VkAllocationCallbacks* allocator, VkDevice* out) {
  // Lost or not: it has no key yet.
  if (const VkResult failure = fault(nullptr, "vkCreateDevice"); failure != VK_SUCCESS) return failure;
  const Chain& instance = chain_of(key_of(physical));
  if ((instance.quirks & FAULT_LYING_EXTENSION) && info->enabledExtensionCount > 0)
    return VK_ERROR_EXTENSION_NOT_PRESENT;
  auto* link = link_of<VkDeviceCreateInfo, VkLayerDeviceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  const auto link_info = link->u.pLayerInfo;
  link->u.pLayerInfo = link_info->pNext;
  const auto create =
      reinterpret_cast<PFN_vkCreateDevice>(link_info->pfnNextGetInstanceProcAddr(instance.instance, "vkCreateDevice"));
  const VkResult result = create(physical, info, allocator, out);
  if (result != VK_SUCCESS) return result;
  add_live("VkDevice", 1);
  add_chain({.instance_functions = link_info->pfnNextGetInstanceProcAddr,
             .device_functions = link_info->pfnNextGetDeviceProcAddr,
             .device = *out,
             .quirks = instance.quirks});
  return result;
}

void destroy_device(VkDevice device, const VkAllocationCallbacks* allocator) {
  if (device == VK_NULL_HANDLE) return;
  const Key key = key_of(device);
  destroy_corrupter(device);
  next<PFN_vkDestroyDevice>(key, "vkDestroyDevice")(device, allocator);
  add_live("VkDevice", -1);
  const std::lock_guard lock(state().mutex);
  state().chains.erase(key);
  state().lost.erase(key);
}

// ---- wrong tiles ----------------------------------------------------------------------------------------------------

// Any function of a device, also one that is not wrapped.
template <typename Function>
Function of_device(Key key, const char* name) {
  const Chain& chain = chain_of(key);
  return reinterpret_cast<Function>(chain.device_functions(chain.device, name));
}

VkResult create_shader_module(VkDevice device, const VkShaderModuleCreateInfo* info,
                              const VkAllocationCallbacks* allocator, VkShaderModule* out) {
  const VkResult result =
      Create<"vkCreateShaderModule", "VkShaderModule", PFN_vkCreateShaderModule>::run(device, info, allocator, out);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(state().mutex);
  fault::Corruption& c = state().corruption;
  const std::vector<uint32_t> code(info->pCode, info->pCode + info->codeSize / sizeof(uint32_t));
  c.modules.erase(*out);
  if (c.kernels.empty() || c.kernels.contains(code)) c.modules.insert(*out);
  return result;
}

#define VK_MUST(call) \
  if (call != VK_SUCCESS) return

// The layer's own pipeline and the buffer of its dispatches, the first time that they are needed.
void make_corrupter(VkDevice device, VkPipelineLayout layout) {
  const Key key = key_of(device);
  fault::Corruption& c = state().corruption;
  if (c.corrupters.contains(key) || c.shader.empty()) return;
  fault::Corrupter made;
  const VkShaderModuleCreateInfo code{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = c.shader.size() * sizeof(uint32_t),
                                      .pCode = c.shader.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  VK_MUST(of_device<PFN_vkCreateShaderModule>(key, "vkCreateShaderModule")(device, &code, nullptr, &module));
  const VkComputePipelineCreateInfo pipeline{.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                             .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                       .module = module,
                                                       .pName = "main"},
                                             .layout = layout};
  VK_MUST(of_device<PFN_vkCreateComputePipelines>(key, "vkCreateComputePipelines")(device, VK_NULL_HANDLE, 1, &pipeline,
                                                                                   nullptr, &made.pipeline));
  of_device<PFN_vkDestroyShaderModule>(key, "vkDestroyShaderModule")(device, module, nullptr);
  const VkBufferCreateInfo buffer{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .size = fault::kSlots * sizeof(VkDispatchIndirectCommand),
                                  .usage = VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT};
  VK_MUST(of_device<PFN_vkCreateBuffer>(key, "vkCreateBuffer")(device, &buffer, nullptr, &made.buffer));
  VkMemoryRequirements needs;
  of_device<PFN_vkGetBufferMemoryRequirements>(key, "vkGetBufferMemoryRequirements")(device, made.buffer, &needs);
  VkMemoryAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size};
  // The memory of software drivers, which are all that this layer is used with, is the host's.
  while (!(needs.memoryTypeBits >> allocate.memoryTypeIndex & 1)) ++allocate.memoryTypeIndex;
  VK_MUST(of_device<PFN_vkAllocateMemory>(key, "vkAllocateMemory")(device, &allocate, nullptr, &made.memory));
  VK_MUST(of_device<PFN_vkBindBufferMemory>(key, "vkBindBufferMemory")(device, made.buffer, made.memory, 0));
  void* mapped = nullptr;
  VK_MUST(of_device<PFN_vkMapMemory>(key, "vkMapMemory")(device, made.memory, 0, VK_WHOLE_SIZE, 0, &mapped));
  made.slots = static_cast<VkDispatchIndirectCommand*>(mapped);
  for (uint32_t i = fault::kSlots; i-- > 0;) made.free_slots.push_back(i);
  c.corrupters[key] = std::move(made);
}

void destroy_corrupter(VkDevice device) {
  const Key key = key_of(device);
  const auto found = state().corruption.corrupters.find(key);
  if (found == state().corruption.corrupters.end()) return;
  of_device<PFN_vkDestroyPipeline>(key, "vkDestroyPipeline")(device, found->second.pipeline, nullptr);
  of_device<PFN_vkDestroyBuffer>(key, "vkDestroyBuffer")(device, found->second.buffer, nullptr);
  of_device<PFN_vkFreeMemory>(key, "vkFreeMemory")(device, found->second.memory, nullptr);
  state().corruption.corrupters.erase(found);
}

VkResult allocate_command_buffers(VkDevice device, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* out) {
  const VkResult result = Call<"vkAllocateCommandBuffers", PFN_vkAllocateCommandBuffers>::run(device, info, out);
  const std::lock_guard lock(state().mutex);
  for (uint32_t i = 0; result == VK_SUCCESS && i < info->commandBufferCount; ++i)
    state().corruption.recordings[out[i]] = {.pool = info->commandPool};
  return result;
}

void destroy_command_pool(VkDevice device, VkCommandPool pool, const VkAllocationCallbacks* allocator) {
  {
    const std::lock_guard lock(state().mutex);
    fault::Corruption& c = state().corruption;
    for (auto at = c.recordings.begin(); at != c.recordings.end();) {
      const auto next = std::next(at);
      if (at->second.pool == pool) {
        for (const uint32_t slot : at->second.slots) c.corrupters.at(key_of(device)).free_slots.push_back(slot);
        c.recordings.erase(at);
      }
      at = next;
    }
  }
  Destroy<"vkDestroyCommandPool", "VkCommandPool", PFN_vkDestroyCommandPool>::run(device, pool, allocator);
}

void bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
  {
    const std::lock_guard lock(state().mutex);
    fault::Corruption& c = state().corruption;
    c.recordings[commands].chosen = c.pipelines.contains(pipeline);
  }
  of_device<PFN_vkCmdBindPipeline>(key_of(commands), "vkCmdBindPipeline")(commands, point, pipeline);
}

void dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  const Key key = key_of(commands);
  of_device<PFN_vkCmdDispatch>(key, "vkCmdDispatch")(commands, x, y, z);
  VkDeviceSize offset = 0;
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;
  {
    const std::lock_guard lock(state().mutex);
    fault::Corruption& c = state().corruption;
    fault::Corruption::Recording& recording = c.recordings[commands];
    const auto corrupter = c.corrupters.find(key);
    if (c.groups == 0 || uint64_t{x} * y * z < c.groups || !recording.chosen || corrupter == c.corrupters.end() ||
        corrupter->second.free_slots.empty())
      return;
    recording.slots.push_back(corrupter->second.free_slots.back());
    corrupter->second.free_slots.pop_back();
    offset = recording.slots.back() * sizeof(VkDispatchIndirectCommand);
    pipeline = corrupter->second.pipeline;
    buffer = corrupter->second.buffer;
  }
  const VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
  of_device<PFN_vkCmdPipelineBarrier>(key, "vkCmdPipelineBarrier")(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                                                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier,
                                                                   0, nullptr, 0, nullptr);
  of_device<PFN_vkCmdBindPipeline>(key, "vkCmdBindPipeline")(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  of_device<PFN_vkCmdDispatchIndirect>(key, "vkCmdDispatchIndirect")(commands, buffer, offset);
}

VkResult queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  {
    const std::lock_guard lock(state().mutex);
    fault::Corruption& c = state().corruption;
    for (uint32_t i = 0; i < count; ++i)
      for (uint32_t k = 0; k < infos[i].commandBufferCount; ++k)
        for (const uint32_t slot : c.recordings[infos[i].pCommandBuffers[k]].slots) {
          const bool hit = std::uniform_real_distribution<>()(c.random) < c.probability;
          const uint32_t tile = hit ? 1 + static_cast<uint32_t>(c.random() % fault::kTiles) : 0;
          c.corrupters.at(key_of(queue)).slots[slot] = {tile, 1, 1};
          c.corrupted += hit;
        }
  }
  return Call<"vkQueueSubmit", PFN_vkQueueSubmit>::run(queue, count, infos, fence);
}

// Creates several at once; those that failed are null.
VkResult create_compute_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                  const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* allocator,
                                  VkPipeline* out) {
  const VkResult result =
      Call<"vkCreateComputePipelines", PFN_vkCreateComputePipelines>::run(device, cache, count, infos, allocator, out);
  if (result == VK_SUCCESS) add_live("VkPipeline", static_cast<int>(count));
  if (result == VK_SUCCESS && state().corruption.groups > 0) {
    make_corrupter(device, infos[0].layout);
    const std::lock_guard lock(state().mutex);
    fault::Corruption& c = state().corruption;
    for (uint32_t i = 0; i < count; ++i) {
      c.pipelines.erase(out[i]);
      if (c.modules.contains(infos[i].stage.module)) c.pipelines.insert(out[i]);
    }
  }
  return result;
}

VkResult allocate_memory(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* allocator,
                         VkDeviceMemory* out) {
  if ((chain_of(key_of(device)).quirks & FAULT_LYING_MEMORY) && info->allocationSize > 256)
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  VkMemoryAllocateInfo changed = *info;
  VkImportMemoryHostPointerInfoEXT import{};
  const auto* next = static_cast<const VkBaseInStructure*>(info->pNext);
  if ((chain_of(key_of(device)).quirks & FAULT_OTHER_PAGES) && next != nullptr &&
      next->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT) {
    import = *reinterpret_cast<const VkImportMemoryHostPointerInfoEXT*>(next);
    import.pHostPointer =
        mmap(nullptr, info->allocationSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);  // never freed
    changed.pNext = &import;
  }
  const VkResult result =
      Create<"vkAllocateMemory", "VkDeviceMemory", PFN_vkAllocateMemory>::run(device, &changed, allocator, out);
  if (result != VK_SUCCESS) return result;
  const std::lock_guard lock(state().mutex);
  state().memory[*out] = info->allocationSize;
  return result;
}

void free_memory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* allocator) {
  {
    const std::lock_guard lock(state().mutex);
    state().memory.erase(memory);
  }
  Destroy<"vkFreeMemory", "VkDeviceMemory", PFN_vkFreeMemory>::run(device, memory, allocator);
}

VkResult host_pointer_properties(VkDevice device, VkExternalMemoryHandleTypeFlagBits type, const void* pointer,
                                 VkMemoryHostPointerPropertiesEXT* out) {
  if (chain_of(key_of(device)).quirks & FAULT_LYING_IMPORT) return VK_ERROR_INVALID_EXTERNAL_HANDLE;
  return Call<"vkGetMemoryHostPointerPropertiesEXT", PFN_vkGetMemoryHostPointerPropertiesEXT>::run(device, type,
                                                                                                   pointer, out);
}

VkResult enumerate_devices(VkInstance instance, uint32_t* count, VkPhysicalDevice* out) {
  if (chain_of(key_of(instance)).quirks & FAULT_NO_DEVICES) {
    *count = 0;
    return VK_SUCCESS;
  }
  return Call<"vkEnumeratePhysicalDevices", PFN_vkEnumeratePhysicalDevices>::run(instance, count, out);
}

VkResult enumerate_extensions(VkPhysicalDevice device, const char* layer, uint32_t* count, VkExtensionProperties* out) {
  using Wrapped = Call<"vkEnumerateDeviceExtensionProperties", PFN_vkEnumerateDeviceExtensionProperties>;
  if (!(chain_of(key_of(device)).quirks & FAULT_LYING_EXTENSION)) return Wrapped::run(device, layer, count, out);
  constexpr char kName[] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
  if (out != nullptr && *count > 0) {
    out[0] = {.specVersion = 1};
    std::memcpy(out[0].extensionName, kName, sizeof kName);
  }
  *count = 1;
  return VK_SUCCESS;
}

void properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* out) {
  const Key key = key_of(device);
  next<PFN_vkGetPhysicalDeviceProperties2>(key, "vkGetPhysicalDeviceProperties2")(device, out);
  const uint32_t quirks = chain_of(key).quirks;
  if (quirks & FAULT_VULKAN_1_0) out->properties.apiVersion = VK_API_VERSION_1_0;
  if (quirks & FAULT_SMALL_LIMITS) out->properties.limits.maxComputeWorkGroupInvocations = 32;
}

void properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* out) {
  VkPhysicalDeviceProperties2 all{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  properties2(device, &all);
  *out = all.properties;
}

void queue_families(VkPhysicalDevice device, uint32_t* count, VkQueueFamilyProperties* out) {
  const Key key = key_of(device);
  next<PFN_vkGetPhysicalDeviceQueueFamilyProperties>(key, "vkGetPhysicalDeviceQueueFamilyProperties")(device, count,
                                                                                                      out);
  if (out == nullptr || !(chain_of(key).quirks & FAULT_NO_COMPUTE_QUEUE)) return;
  for (uint32_t i = 0; i < *count; ++i) out[i].queueFlags &= ~VkQueueFlags(VK_QUEUE_COMPUTE_BIT);
}

// ---- the layer's interface ------------------------------------------------------------------------------------------

PFN_vkVoidFunction get_instance_function(VkInstance instance, const char* name);
PFN_vkVoidFunction get_device_function(VkDevice device, const char* name);

const std::map<std::string_view, PFN_vkVoidFunction>& wrappers() {
  static const std::map<std::string_view, PFN_vkVoidFunction> all = {
#define OWN(name, function) {#name, reinterpret_cast<PFN_vkVoidFunction>(static_cast<PFN_##name>(function))},
#define CALL(name) OWN(name, (Call<#name, PFN_##name>::run))
#define CREATE(name, type) OWN(name, (Create<#name, #type, PFN_##name>::run))
#define DESTROY(name, type) OWN(name, (Destroy<#name, #type, PFN_##name>::run))
      FAULT_FUNCTIONS(CALL, CREATE, DESTROY) OWN(vkGetInstanceProcAddr, get_instance_function)
          OWN(vkCreateShaderModule, create_shader_module) OWN(vkAllocateCommandBuffers, allocate_command_buffers)
              OWN(vkDestroyCommandPool, destroy_command_pool) OWN(vkCmdBindPipeline, bind_pipeline)
                  OWN(vkCmdDispatch, dispatch) OWN(vkQueueSubmit, queue_submit)
                      OWN(vkGetDeviceProcAddr, get_device_function) OWN(vkCreateInstance, create_instance)
                          OWN(vkDestroyInstance, destroy_instance) OWN(vkCreateDevice, create_device) OWN(
                              vkDestroyDevice, destroy_device) OWN(vkCreateComputePipelines, create_compute_pipelines)
                              OWN(vkAllocateMemory, allocate_memory) OWN(vkFreeMemory, free_memory)
                                  OWN(vkGetMemoryHostPointerPropertiesEXT, host_pointer_properties)
                                      OWN(vkEnumeratePhysicalDevices, enumerate_devices)
                                          OWN(vkEnumerateDeviceExtensionProperties, enumerate_extensions)
                                              OWN(vkGetPhysicalDeviceProperties, properties)
                                                  OWN(vkGetPhysicalDeviceProperties2, properties2)
                                                      OWN(vkGetPhysicalDeviceProperties2KHR, properties2)
                                                          OWN(vkGetPhysicalDeviceQueueFamilyProperties, queue_families)
#undef DESTROY
#undef CREATE
#undef CALL
#undef OWN
  };
  return all;
}

// The layer's function of that name; null if there is none.
PFN_vkVoidFunction wrapper(std::string_view name) {
  const auto found = wrappers().find(name);
  return found == wrappers().end() ? nullptr : found->second;
}

void add_chain(Chain chain) {
  for (const auto& [name, own] : wrappers())
    chain.functions[name] = chain.device ? chain.device_functions(chain.device, name.data())
                                         : chain.instance_functions(chain.instance, name.data());
  const Key key = chain.device ? key_of(chain.device) : key_of(chain.instance);
  const std::lock_guard lock(state().mutex);
  state().chains[key] = std::move(chain);
}

PFN_vkVoidFunction get_instance_function(VkInstance instance, const char* name) {
  if (const PFN_vkVoidFunction own = wrapper(name)) return own;
  return instance == VK_NULL_HANDLE ? nullptr : chain_of(key_of(instance)).instance_functions(instance, name);
}

PFN_vkVoidFunction get_device_function(VkDevice device, const char* name) {
  const PFN_vkVoidFunction there = chain_of(key_of(device)).device_functions(device, name);
  const PFN_vkVoidFunction own = wrapper(name);
  return there != nullptr && own != nullptr ? own : there;  // only functions that the driver has
}

}  // namespace

extern "C" {

VK_LAYER_EXPORT VkResult vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  interface->loaderLayerInterfaceVersion = std::min<uint32_t>(interface->loaderLayerInterfaceVersion, 2);
  interface->pfnGetInstanceProcAddr = get_instance_function;
  interface->pfnGetDeviceProcAddr = get_device_function;
  interface->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}

VK_LAYER_EXPORT void fault_arm(uint32_t n, VkResult result) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.armed = n;
  s.result = result;
  s.fired = false;
  s.calls.clear();
  s.lost.clear();
}

VK_LAYER_EXPORT uint32_t fault_calls(void) {
  const std::lock_guard lock(state().mutex);
  return static_cast<uint32_t>(state().calls.size());
}

VK_LAYER_EXPORT const char* fault_call_name(uint32_t n) {
  const std::lock_guard lock(state().mutex);
  return n < state().calls.size() ? state().calls[n] : nullptr;
}

VK_LAYER_EXPORT bool fault_fired(void) {
  const std::lock_guard lock(state().mutex);
  return state().fired;
}

VK_LAYER_EXPORT void fault_corrupt(uint32_t groups, double probability, uint64_t seed) {
  const std::lock_guard lock(state().mutex);
  fault::Corruption& c = state().corruption;
  c.groups = groups;
  c.probability = probability;
  c.random.seed(seed);
  c.corrupted = 0;
  if (groups == 0) c.kernels.clear();
}

VK_LAYER_EXPORT void fault_corrupt_kernel(const uint32_t* code, size_t words) {
  const std::lock_guard lock(state().mutex);
  state().corruption.kernels.insert({code, code + words});
}

VK_LAYER_EXPORT void fault_set_corrupting_shader(const uint32_t* code, size_t words) {
  const std::lock_guard lock(state().mutex);
  state().corruption.shader.assign(code, code + words);
}

VK_LAYER_EXPORT uint64_t fault_corrupted(void) {
  const std::lock_guard lock(state().mutex);
  return state().corruption.corrupted;
}

VK_LAYER_EXPORT void fault_set_quirks(uint32_t quirks) {
  const std::lock_guard lock(state().mutex);
  state().quirks = quirks;
}

VK_LAYER_EXPORT uint32_t fault_live_objects(void) {
  const std::lock_guard lock(state().mutex);
  uint32_t count = 0;
  for (const auto& [type, alive] : state().live) count += alive;
  return count;
}

VK_LAYER_EXPORT const char* fault_live_list(void) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.list.clear();
  for (const auto& [type, alive] : s.live)
    if (alive != 0) s.list += (s.list.empty() ? "" : ", ") + type + " " + std::to_string(static_cast<int>(alive));
  return s.list.c_str();
}

VK_LAYER_EXPORT uint64_t fault_live_bytes(void) {
  const std::lock_guard lock(state().mutex);
  uint64_t bytes = 0;
  for (const auto& [memory, size] : state().memory) bytes += size;
  return bytes;
}
}
