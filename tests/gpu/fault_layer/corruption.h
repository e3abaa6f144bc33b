// Dispatches that compute a tile wrongly, at random and only at large sizes, as drivers are known to do. After each
// dispatch the layer records an indirect one of its own shader, whose number of workgroups it writes when the command
// buffer is submitted: 0, or the number of the tile.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace fault {

inline constexpr uint32_t kTiles = 8, kSlots = 1 << 14;

// Of one device.
struct Corrupter {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkBuffer buffer = VK_NULL_HANDLE;  // of VkDispatchIndirectCommand
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDispatchIndirectCommand* slots = nullptr;
  std::vector<uint32_t> free_slots;
};

struct Corruption {
  uint32_t groups = 0;  // 0: none
  double probability = 0;
  std::mt19937_64 random;
  std::set<std::vector<uint32_t>> kernels;  // SPIR-V; none: all
  std::vector<uint32_t> shader;
  uint64_t corrupted = 0;
  std::set<VkShaderModule> modules;             // of chosen kernels
  std::set<VkPipeline> pipelines;               // of these modules
  std::map<const void*, Corrupter> corrupters;  // by a device's key
  // While a command buffer lives.
  struct Recording {
    VkCommandPool pool = VK_NULL_HANDLE;
    bool chosen = false;  // the pipeline that is bound
    std::vector<uint32_t> slots;
  };
  std::map<VkCommandBuffer, Recording> recordings;
};

}  // namespace fault
