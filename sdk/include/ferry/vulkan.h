/* SPDX-License-Identifier: Apache-2.0 */
/* vulkan.h - a session on the app's own Vulkan device, between the app's own buffers.
 *
 *   // what the app renders with: a queue that computes, Vulkan 1.1
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
 *   // on the queue, between what the app submitted before and what it submits next; the host waits for nothing
 *   if (ferry_session_submit_vulkan(session, NULL) != FERRY_OK) return fail(ferry_last_error());
 *   if (ferry_session_wait(session) != FERRY_OK) return fail(ferry_last_error());
 *   ferry_session_close(session);
 *   ferry_gpu_close(gpu);
 *
 * A library that was built without the GPU backend has none of these functions. */
#ifndef FERRY_VULKAN_H_
#define FERRY_VULKAN_H_

#include <ferry/ferry.h>
#include <vulkan/vulkan_core.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* A device of the app's. All of it outlives the ferry_gpu and every session that uses it. No feature and no extension
 * needs to be enabled. */
typedef struct ferry_vulkan_device {
  size_t struct_size; /* set by the caller: sizeof(ferry_vulkan_device) */
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue; /* of a family that computes */
  uint32_t queue_family;
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  /* Called around every vkQueueSubmit(), from whatever thread runs a session. NULL, both: nobody else uses the queue
   * while a session is made, resized, bound or run. */
  void (*lock_queue)(void* user);
  void (*unlock_queue)(void* user);
  void* user;
  const char*
      cache_dir; /* as ferry_session_options.gpu_cache_dir, which is not looked at with a ferry_gpu; may be NULL */
} ferry_vulkan_device;

/* For ferry_session_options.gpu. FERRY_GPU_UNAVAILABLE: the device cannot serve; the sentence says why. */
FERRY_NODISCARD FERRY_API ferry_status ferry_gpu_open_vulkan(const ferry_vulkan_device* device, ferry_gpu** gpu);
/* Sessions that use it may still be open: what belongs to the device goes with the last of them. NULL is allowed. */
FERRY_API void ferry_gpu_close(ferry_gpu* gpu);

/* Input or output `index` lies in a buffer of the app's from now on, not in host memory: float32, channels last, no
 * padding. VK_NULL_HANDLE: in host memory again; so it is after a resize, too. The buffer has
 * VK_BUFFER_USAGE_STORAGE_BUFFER_BIT and belongs to the queue's family; `offset` is a multiple of
 * minStorageBufferOffsetAlignment; `bytes` are at least the tensor's. The command buffer is recorded anew: bind once,
 * not in every frame. A session that has anything bound does not go over to the CPU when its GPU is lost: its runs fail
 * with FERRY_GPU_LOST. FERRY_INVALID_ARGUMENT: the session was made without options.gpu, or the range does not fit.
 * FERRY_GPU_UNAVAILABLE: the session is on the CPU. FERRY_UNSUPPORTED: an operator at that tensor runs on the CPU. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_bind_vulkan_input(ferry_session* session, size_t index,
                                                                       VkBuffer buffer, VkDeviceSize offset,
                                                                       VkDeviceSize bytes);
FERRY_NODISCARD FERRY_API ferry_status ferry_session_bind_vulkan_output(ferry_session* session, size_t index,
                                                                        VkBuffer buffer, VkDeviceSize offset,
                                                                        VkDeviceSize bytes);

/* What a run waits for and what it signals, as in VkSubmitInfo. */
typedef struct ferry_vulkan_submit {
  size_t struct_size; /* set by the caller: sizeof(ferry_vulkan_submit) */
  uint32_t wait_count;
  uint32_t signal_count;
  const VkSemaphore* wait_semaphores; /* waited for at VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT */
  const VkSemaphore* signal_semaphores;
  const uint64_t* wait_values; /* of timeline semaphores, which the app's device has enabled; NULL: all are binary */
  const uint64_t* signal_values;
  VkFence fence; /* signalled when the run is done; may be VK_NULL_HANDLE */
} ferry_vulkan_submit;

/* Submits a run and returns without waiting for it. `submit` NULL: nothing to wait for, nothing to signal. Buffers that
 * are bound are ordered against everything else on the queue; inputs in host memory are read before this returns;
 * outputs in host memory are there after ferry_session_wait(). Every call on the session but ferry_session_cancel(),
 * the next submission too, waits for the run first. FERRY_UNSUPPORTED: an operator of the network runs on the CPU. */
FERRY_NODISCARD FERRY_API ferry_status ferry_session_submit_vulkan(ferry_session* session,
                                                                   const ferry_vulkan_submit* submit);

#if defined(__cplusplus)
} /* extern "C" */
#endif

#endif /* FERRY_VULKAN_H_ */
