#include "sdk/gpu/device/vulkan.h"

namespace ferry::gpu {

const char* result_name(VkResult result) {
  switch (result) {
    case VK_SUCCESS: return "VK_SUCCESS";
    case VK_NOT_READY: return "VK_NOT_READY";
    case VK_TIMEOUT: return "VK_TIMEOUT";
    case VK_INCOMPLETE: return "VK_INCOMPLETE";
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED: return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST: return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED: return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT: return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS: return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_FRAGMENTED_POOL: return "VK_ERROR_FRAGMENTED_POOL";
    case VK_ERROR_OUT_OF_POOL_MEMORY: return "VK_ERROR_OUT_OF_POOL_MEMORY";
    case VK_ERROR_INVALID_EXTERNAL_HANDLE: return "VK_ERROR_INVALID_EXTERNAL_HANDLE";
    default: return "an unknown VkResult";
  }
}

Status check(VkResult result, const char* function) {
  switch (result) {
    case VK_SUCCESS: return {};
    case VK_ERROR_DEVICE_LOST: return error(FERRY_GPU_LOST, "%s failed: %s", function, result_name(result));
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return error(FERRY_OUT_OF_MEMORY, "%s failed: %s", function, result_name(result));
    default: return error(FERRY_BACKEND_ERROR, "%s failed: %s (%d)", function, result_name(result), result);
  }
}

Status DeviceFunctions::load(PFN_vkGetDeviceProcAddr get, VkDevice device, DeviceFunctions* out) {
  const char* missing = nullptr;
  const auto load_one = [&]<typename Function>(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(get(device, name));
    return *function != nullptr;
  };
#define FERRY_LOAD(name) \
  if (!load_one(#name, &out->name) && missing == nullptr) missing = #name;
  FERRY_DEVICE_FUNCTIONS(FERRY_LOAD)
#undef FERRY_LOAD
  (void)load_one("vkGetMemoryHostPointerPropertiesEXT", &out->vkGetMemoryHostPointerPropertiesEXT);
  (void)load_one("vkGetMemoryFdPropertiesKHR", &out->vkGetMemoryFdPropertiesKHR);
  (void)load_one("vkGetAndroidHardwareBufferPropertiesANDROID", &out->vkGetAndroidHardwareBufferPropertiesANDROID);
  if (missing == nullptr) return {};
  return error(FERRY_GPU_UNAVAILABLE, "the Vulkan device lacks %s: Vulkan 1.1 is needed", missing);
}

}  // namespace ferry::gpu
