#include <cstddef>
#include <cstdio>

#include "sdk/api/handles.h"
#if FERRY_GPU
#include "sdk/gpu/canary/denormals.h"
#include "sdk/gpu/device/instance.h"
#endif

namespace ferry {
namespace {

#if FERRY_GPU

static_assert(static_cast<int>(FERRY_GPU_OTHER) == VK_PHYSICAL_DEVICE_TYPE_OTHER);
static_assert(static_cast<int>(FERRY_GPU_INTEGRATED) == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU);
static_assert(static_cast<int>(FERRY_GPU_DISCRETE) == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
static_assert(static_cast<int>(FERRY_GPU_VIRTUAL) == VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU);
static_assert(static_cast<int>(FERRY_GPU_SOFTWARE) == VK_PHYSICAL_DEVICE_TYPE_CPU);

Status count_gpus(size_t* out) {
  std::shared_ptr<const gpu::Instance> instance;
  FERRY_TRY(gpu::Instance::open(&instance));
  *out = instance->devices().size();
  return {};
}

Status describe_gpu(size_t index, ferry_gpu_info* out) {
  std::shared_ptr<const gpu::Instance> instance;
  FERRY_TRY(gpu::Instance::open(&instance));
  const size_t devices = instance->devices().size();
  if (index >= devices) return error(FERRY_INVALID_ARGUMENT, "GPU %zu does not exist: there are %zu", index, devices);
  const gpu::DeviceInfo& device = instance->devices()[index];
  const VkPhysicalDeviceType type = device.properties.deviceType;
  out->type = type <= VK_PHYSICAL_DEVICE_TYPE_CPU ? static_cast<ferry_gpu_type>(type) : FERRY_GPU_OTHER;
  out->vulkan_major = static_cast<int32_t>(VK_API_VERSION_MAJOR(device.properties.apiVersion));
  out->vulkan_minor = static_cast<int32_t>(VK_API_VERSION_MINOR(device.properties.apiVersion));
  out->memory_bytes = device.memory_bytes;
  std::snprintf(out->name, sizeof(out->name), "%s", device.properties.deviceName);
  std::snprintf(out->driver, sizeof(out->driver), "%s", device.driver.c_str());
  std::snprintf(out->problem, sizeof(out->problem), "%s", device.problem.c_str());
  return {};
}

Status keeps_denormals(size_t index, bool* kept) {
  std::shared_ptr<gpu::Device> device;
  FERRY_TRY(gpu::Device::open(std::to_string(index).c_str(), nullptr, false, &device));
  bool flushes = false;
  FERRY_TRY(gpu::flushes_float16(*device, &flushes));
  *kept = !flushes;
  return {};
}

#else

Status no_backend() { return error(FERRY_GPU_UNAVAILABLE, "this build has no GPU backend (FERRY_GPU=OFF)"); }

Status count_gpus(size_t*) { return no_backend(); }
Status describe_gpu(size_t, ferry_gpu_info*) { return no_backend(); }
Status keeps_denormals(size_t, bool*) { return no_backend(); }

#endif

}  // namespace
}  // namespace ferry

size_t ferry_gpu_count(void) {
  size_t count = 0;
  return ferry::guarded([&] { return ferry::count_gpus(&count); }) == FERRY_OK ? count : 0;
}

ferry_status ferry_gpu_describe(size_t index, ferry_gpu_info* info) {
  FERRY_REQUIRE(info);
  constexpr size_t kFirstVersion = offsetof(ferry_gpu_info, problem) + sizeof(info->problem);
  ferry_gpu_info described{};
  const ferry::Status status = ferry::attempt([&] { return ferry::describe_gpu(index, &described); });
  const ferry::Status filled = ferry::fill_versioned(described, kFirstVersion, "ferry_gpu_info", info);
  return ferry::report(filled.ok() ? status : filled);
}

ferry_status ferry_gpu_keeps_denormals(size_t index, bool* kept) {
  FERRY_REQUIRE(kept);
  *kept = false;
  return ferry::guarded([&] { return ferry::keeps_denormals(index, kept); });
}
