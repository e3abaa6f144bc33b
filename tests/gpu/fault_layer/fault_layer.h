// A Vulkan layer for tests: fails the n-th call, counts what is alive, and lets a driver look worse than it is. The
// library is loaded by the Vulkan loader (as layer VK_LAYER_FERRY_fault) and by the test (tests/gpu/faults.h): one and
// the same. It lies nearest to the program, so that the validation layer sees what reaches the driver and nothing else.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>

// What the library exports. "A call" is one of a function that returns a VkResult, with an instance or a device.
extern "C" {

enum FaultQuirk : uint32_t {
  FAULT_NO_QUIRK = 0,
  FAULT_NO_COMPUTE_QUEUE = 1,  // no queue family computes
  FAULT_NO_DEVICES = 2,        // there is no physical device
  FAULT_VULKAN_1_0 = 4,        // devices are of Vulkan 1.0
  FAULT_SMALL_LIMITS = 8,      // workgroups of 32 invocations
  FAULT_LYING_EXTENSION = 16,  // VK_EXT_external_memory_host is listed; a device with it cannot be made
  FAULT_LYING_IMPORT = 32,     // VK_EXT_external_memory_host is there, and fails for every pointer
  FAULT_OTHER_PAGES = 128,     // what is imported reads as zeros
  FAULT_LYING_MEMORY = 64,     // maxMemoryAllocationSize is as ever, but nothing above 256 bytes can be allocated
};

// The call number `n` from now (0: the next) gives `result` and does not reach the driver. VK_ERROR_DEVICE_LOST is for
// good: so do all later calls with that device. UINT32_MAX: no call fails. Starts counting anew.
void fault_arm(uint32_t n, VkResult result);
// Calls since fault_arm().
uint32_t fault_calls(void);
// The function of call `n` since fault_arm(); null where there was none.
const char* fault_call_name(uint32_t n);
// Has the armed call failed?
bool fault_fired(void);

// FaultQuirks; for instances made from now on.
void fault_set_quirks(uint32_t quirks);

// Vulkan objects made and not destroyed, memory included; those that go with their pool are not counted.
uint32_t fault_live_objects(void);
// The same in words: "VkBuffer 2, VkFence 1". Valid until the next call.
const char* fault_live_list(void);
// Bytes of device memory allocated and not freed.
uint64_t fault_live_bytes(void);
}
