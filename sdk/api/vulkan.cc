// The C API of vulkan.h. Empty if the library is built without the GPU backend.
#if FERRY_GPU
#include "sdk/gpu/device/vulkan.h"
// Before the public header: declares functions as pointers only.
#include <ferry/vulkan.h>

#include <cstddef>

#include "sdk/api/handles.h"
#include "sdk/gpu/device/interop.h"

namespace ferry {
namespace {

Status open_gpu(const ferry_vulkan_device& given, ferry_gpu** out) {
  if (given.struct_size < sizeof given)
    return error(FERRY_INVALID_ARGUMENT, "struct_size is %zu: set it to sizeof(ferry_vulkan_device)",
                 given.struct_size);
  if (given.instance == nullptr || given.physical_device == nullptr || given.device == nullptr ||
      given.queue == nullptr || given.get_instance_proc_addr == nullptr)
    return error(FERRY_INVALID_ARGUMENT,
                 "instance, physical_device, device, queue and get_instance_proc_addr must all be given");
  if ((given.lock_queue == nullptr) != (given.unlock_queue == nullptr))
    return error(FERRY_INVALID_ARGUMENT, "lock_queue and unlock_queue go together: one of them is NULL");
  auto opened = std::make_unique<ferry_gpu>();
  const gpu::ExternalDevice external{.get_instance_proc_addr = given.get_instance_proc_addr,
                                     .instance = given.instance,
                                     .physical_device = given.physical_device,
                                     .device = given.device,
                                     .queue = given.queue,
                                     .queue_family = given.queue_family,
                                     .lock_queue = given.lock_queue,
                                     .unlock_queue = given.unlock_queue,
                                     .user = given.user};
  FERRY_TRY(gpu::Device::adopt(external, given.cache_dir, &opened->device));
  *out = opened.release();
  return {};
}

Status find_interop(ferry_session* session, gpu::Interop** out) {
  Session& idle = session->idle();
  *out = gpu::interop_of(idle.computing());
  if (*out != nullptr) return {};
  const std::string_view reason = idle.gpu_status().message();
  return error(FERRY_GPU_UNAVAILABLE, "the session is on the CPU%s%s", reason.empty() ? "" : ": ", reason.data());
}

Status bind(ferry_session* session, const char* kind, const flatbuffers::Vector<flatbuffers::Offset<fbs::Port>>& ports,
            size_t index, const gpu::BufferRange& range) {
  if (index >= ports.size())
    return error(FERRY_INVALID_ARGUMENT, "%s %zu does not exist: the model has %zu", kind, index,
                 static_cast<size_t>(ports.size()));
  gpu::Interop* interop = nullptr;
  FERRY_TRY(find_interop(session, &interop));
  const fbs::Port& port = *ports.Get(static_cast<unsigned>(index));
  if (port.counts() != nullptr || port.is_count())
    return error(FERRY_UNSUPPORTED, "%s '%s' cannot be bound: its size follows from values, read it from host memory",
                 kind, port.name()->c_str());
  const Status status = interop->bind(port.tensor(), range);
  if (status.ok()) return {};
  return error(status.code(), "%s '%s' cannot be bound: %s", kind, port.name()->c_str(), status.message().data());
}

Status submit(ferry_session* session, const ferry_vulkan_submit& given) {
  if (given.struct_size < sizeof given)
    return error(FERRY_INVALID_ARGUMENT, "struct_size is %zu: set it to sizeof(ferry_vulkan_submit)",
                 given.struct_size);
  if ((given.wait_count > 0 && given.wait_semaphores == nullptr) ||
      (given.signal_count > 0 && given.signal_semaphores == nullptr))
    return error(FERRY_INVALID_ARGUMENT, "semaphores are counted but not given");
  gpu::Interop* interop = nullptr;
  FERRY_TRY(find_interop(session, &interop));
  const std::vector<VkPipelineStageFlags> stages(given.wait_count, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
  const VkTimelineSemaphoreSubmitInfo values{
      .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
      .waitSemaphoreValueCount = given.wait_values != nullptr ? given.wait_count : 0,
      .pWaitSemaphoreValues = given.wait_values,
      .signalSemaphoreValueCount = given.signal_values != nullptr ? given.signal_count : 0,
      .pSignalSemaphoreValues = given.signal_values};
  const bool timeline = given.wait_values != nullptr || given.signal_values != nullptr;
  const VkSubmitInfo batch{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .pNext = timeline ? &values : nullptr,
                           .waitSemaphoreCount = given.wait_count,
                           .pWaitSemaphores = given.wait_semaphores,
                           .pWaitDstStageMask = stages.data(),
                           .signalSemaphoreCount = given.signal_count,
                           .pSignalSemaphores = given.signal_semaphores};
  return interop->submit(batch, given.fence);
}

}  // namespace
}  // namespace ferry

ferry_status ferry_gpu_open_vulkan(const ferry_vulkan_device* device, ferry_gpu** gpu) {
  FERRY_REQUIRE(gpu);
  *gpu = nullptr;
  FERRY_REQUIRE(device);
  return ferry::guarded([&] { return ferry::open_gpu(*device, gpu); });
}

void ferry_gpu_close(ferry_gpu* gpu) { delete gpu; }

ferry_status ferry_session_bind_vulkan_input(ferry_session* session, size_t index, VkBuffer buffer, VkDeviceSize offset,
                                             VkDeviceSize bytes) {
  FERRY_REQUIRE(session);
  const auto& ports = *session->idle().model().graph().inputs();
  return ferry::guarded([&] { return ferry::bind(session, "input", ports, index, {buffer, offset, bytes}); });
}

ferry_status ferry_session_bind_vulkan_output(ferry_session* session, size_t index, VkBuffer buffer,
                                              VkDeviceSize offset, VkDeviceSize bytes) {
  FERRY_REQUIRE(session);
  const auto& ports = *session->idle().model().graph().outputs();
  return ferry::guarded([&] { return ferry::bind(session, "output", ports, index, {buffer, offset, bytes}); });
}

ferry_status ferry_session_submit_vulkan(ferry_session* session, const ferry_vulkan_submit* submit) {
  FERRY_REQUIRE(session);
  const ferry_vulkan_submit nothing{.struct_size = sizeof(ferry_vulkan_submit)};
  return ferry::guarded([&] { return ferry::submit(session, submit != nullptr ? *submit : nothing); });
}
#endif
