// A Vulkan layer for tests: fails the n-th call, counts live objects, and hides capabilities of a driver. The Vulkan
// loader (as layer VK_LAYER_FERRY_fault) and the test (tests/gpu/faults.h) load the same library. It is nearest to the
// program, so that the validation layer sees only what reaches the driver.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>

// The library's exports. "A call" is one of a function that returns a VkResult, with an instance or a device.
extern "C" {

enum FaultQuirk : uint32_t {
  FAULT_NO_QUIRK = 0,
  FAULT_NO_COMPUTE_QUEUE = 1,  // no queue family supports compute
  FAULT_NO_DEVICES = 2,        // there is no physical device
  FAULT_VULKAN_1_0 = 4,        // devices have Vulkan 1.0
  FAULT_SMALL_LIMITS = 8,      // workgroups of at most 32 invocations
  FAULT_LYING_EXTENSION = 16,  // VK_EXT_external_memory_host is listed, but creating a device with it fails
  FAULT_LYING_IMPORT = 32,     // VK_EXT_external_memory_host exists, but fails for every pointer
  FAULT_OTHER_PAGES = 128,     // imported memory reads as zeros
  FAULT_LYING_MEMORY = 64,     // maxMemoryAllocationSize is unchanged, but allocations above 256 bytes fail
};

// Call number `n` from now (0: the next) returns `result` and does not reach the driver. VK_ERROR_DEVICE_LOST is
// permanent for that device. UINT32_MAX: no call fails. Restarts counting.
void fault_arm(uint32_t n, VkResult result);
// Calls since fault_arm().
uint32_t fault_calls(void);
// The function of call `n` since fault_arm(); null if there was none.
const char* fault_call_name(uint32_t n);
// True if the armed call has failed.
bool fault_fired(void);

// Makes dispatches compute wrongly at random: a tile, a sixteenth of the output's second half, is corrupted with
// `probability` each time that a dispatch of at least `groups` workgroups of a listed kernel is executed. Command
// buffers recorded before are not affected by `groups` and `kernels`; `probability` applies at once. 0 groups: none.
void fault_corrupt(uint32_t groups, double probability, uint64_t seed);
// Kernels of which dispatches are corrupted, by their SPIR-V; none: all. Applies to pipelines created from now on.
void fault_corrupt_kernel(const uint32_t* code, size_t words);
// The layer's own shader, before a device is created: binding 0 is the buffer to corrupt.
void fault_set_corrupting_shader(const uint32_t* code, size_t words);
// Dispatches corrupted so far.
uint64_t fault_corrupted(void);

// FaultQuirks for instances created from now on.
void fault_set_quirks(uint32_t quirks);

// Vulkan objects created and not destroyed, including memory, without those that their pool destroys.
uint32_t fault_live_objects(void);
// The same as text: "VkBuffer 2, VkFence 1". Valid until the next call.
const char* fault_live_list(void);
// Bytes of device memory allocated and not freed.
uint64_t fault_live_bytes(void);
}
