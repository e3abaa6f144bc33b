/* SPDX-License-Identifier: Apache-2.0 */
/* vulkan.h - runs a session on the app's Vulkan device, from and to the app's buffers.
 *
 *   // the app's device: Vulkan 1.1, with a compute queue
 *   ferry_vulkan_device device = {0};
 *   device.struct_size = sizeof(device);
 *   device.instance = app->instance;
 *   device.physical_device = app->physical_device;
 *   device.device = app->device;
 *   device.queue = app->queue;
 *   device.queue_family = app->queue_family;
 *   device.get_instance_proc_addr = app->get_instance_proc_addr;
 *   ferry_gpu* gpu;
 *   ferry_session* session;
 *   if (ferry_gpu_open_vulkan(&device, &gpu) != FERRY_OK) return fail(ferry_last_error());
 *   ferry_session_options options;
 *   ferry_session_options_init(&options);
 *   options.backend = FERRY_BACKEND_GPU;
 *   options.gpu_required = true;
 *   options.gpu = gpu;
 *   if (ferry_session_create(model, &options, &session) != FERRY_OK) return fail(ferry_last_error());
 *   // float32, channels last, no padding
 *   if (ferry_session_bind_vulkan_input(session, 0, app->image, 0, app->image_bytes) != FERRY_OK ||
 *       ferry_session_bind_vulkan_output(session, 0, app->result, 0, app->result_bytes) != FERRY_OK)
 *     return fail(ferry_last_error());
 *   // ordered on the queue with the app's other submissions; the host does not wait
 *   if (ferry_session_submit_vulkan(session, NULL) != FERRY_OK) return fail(ferry_last_error());
 *   if (ferry_session_wait(session) != FERRY_OK) return fail(ferry_last_error());
 *   ferry_session_close(session);
 *   ferry_gpu_close(gpu);
 *
 * A library built without the GPU backend does not have these functions. */
#ifndef FERRY_VULKAN_H_
#define FERRY_VULKAN_H_

#include <ferry/ferry.h>
#include <vulkan/vulkan_core.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* The app's device. It must outlive the ferry_gpu and every session that uses it. No feature and no extension needs to
 * be enabled. */
typedef struct ferry_vulkan_device {
  size_t struct_size; /* set by the caller: sizeof(ferry_vulkan_device) */
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue; /* of a family with compute */
  uint32_t queue_family;
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  /* Called around every vkQueueSubmit(), from any thread that runs a session. Both NULL: nobody else uses the queue
   * while a session is created, resized, bound or run. */
  void (*lock_queue)(void* user);
  void (*unlock_queue)(void* user);
  void* user;
  const char* cache_dir; /* as ferry_session_options.gpu_cache_dir, which is ignored with a ferry_gpu; may be NULL */
} ferry_vulkan_device;

/* Opens a device for ferry_session_options.gpu. FERRY_GPU_UNAVAILABLE: the device is unsuitable; ferry_last_error()
 * says why. */
FERRY_NODISCARD FERRY_API ferry_status ferry_gpu_open_vulkan(const ferry_vulkan_device* device, ferry_gpu** gpu);
/* Sessions that use it may still be open; the last of them releases the resources. Accepts NULL. */
FERRY_API void ferry_gpu_close(ferry_gpu* gpu);

/* Binds input or output `index` to a buffer of the app: float32, channels last, no padding. VK_NULL_HANDLE, or a
 * resize, returns it to host memory. The buffer has VK_BUFFER_USAGE_STORAGE_BUFFER_BIT and belongs to the queue's
 * family; `offset` is a multiple of minStorageBufferOffsetAlignment; `bytes` is at least the tensor's size. Binding
 * records the command buffer again, so bind once, not per frame. A session with bound tensors does not fall back to the
 * CPU if its GPU is lost: its runs fail with FERRY_GPU_LOST. FERRY_INVALID_ARGUMENT: the session was created without
 * options.gpu, or the range is invalid. FERRY_GPU_UNAVAILABLE: the session is on the CPU. FERRY_UNSUPPORTED: an
 * operator at that tensor runs on the CPU. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_bind_vulkan_input(ferry_session* session, size_t index,
                                                                       VkBuffer buffer, VkDeviceSize offset,
                                                                       VkDeviceSize bytes);
FERRY_NODISCARD FERRY_API ferry_status ferry_session_bind_vulkan_output(ferry_session* session, size_t index,
                                                                        VkBuffer buffer, VkDeviceSize offset,
                                                                        VkDeviceSize bytes);

/* Semaphores that a run waits for and signals, as in VkSubmitInfo. */
typedef struct ferry_vulkan_submit {
  size_t struct_size; /* set by the caller: sizeof(ferry_vulkan_submit) */
  uint32_t wait_count;
  uint32_t signal_count;
  const VkSemaphore* wait_semaphores; /* waited for at VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT */
  const VkSemaphore* signal_semaphores;
  const uint64_t* wait_values; /* of timeline semaphores, which the app's device has enabled; NULL: all are binary */
  const uint64_t* signal_values;
  VkFence fence; /* signalled at the end of the run; may be VK_NULL_HANDLE */
} ferry_vulkan_submit;

/* Submits a run and returns without waiting for it. `submit` NULL: no semaphores and no fence. Bound buffers are
 * ordered with everything else on the queue; inputs in host memory are read before this returns; outputs in host memory
 * are valid after ferry_session_wait(). Every other call on the session, including the next submission, waits for the
 * run first; ferry_session_cancel() does not. FERRY_UNSUPPORTED: an operator of the network runs on the CPU. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_submit_vulkan(ferry_session* session,
                                                                   const ferry_vulkan_submit* submit);

#if defined(__cplusplus)
} /* extern "C" */
#endif

#endif /* FERRY_VULKAN_H_ */
