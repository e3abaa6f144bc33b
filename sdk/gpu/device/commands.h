// A command buffer of dispatches, recorded once and submitted any number of times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sdk/gpu/device/device.h"
#include "sdk/gpu/lowering/program.h"

namespace ferry::gpu {

// A range of a buffer, aligned for a binding.
struct BufferRange {
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0, bytes = 0;
};

class Commands {
 public:
  explicit Commands(Device& device) : device_(device.shared_from_this()) {}
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  // Reserves room for `dispatches` dispatches and, if `timed`, one more timestamp than that. `foreign`: the buffers
  // belong to the application, which may access them before and after.
  Status begin(size_t dispatches, bool timed = false, bool foreign = false);
  // Waits for earlier dispatches that access the same bytes. An operand of kind None is bound to the output's range.
  Status dispatch(const Dispatch& dispatch, const std::array<BufferRange, kBindings>& ranges);
  // Copies from.bytes bytes each, ordered after earlier and before later dispatches. Needs no reserved room.
  struct Copy {
    BufferRange from, to;
  };
  void copy(std::span<const Copy> copies);
  void copy(const BufferRange& from, const BufferRange& to) {
    const Copy one{from, to};
    copy({&one, 1});
  }
  // Fills a range of whole words, ordered in the same way.
  void fill(const BufferRange& range, uint32_t word);
  // Transfers ownership of memory that others write: to the device's queue before dispatches read it, and back.
  void acquire(const BufferRange& range) { change_owner(range, device_->foreign_family(), device_->queue_family()); }
  void release(const BufferRange& range) { change_owner(range, device_->queue_family(), device_->foreign_family()); }
  // Writes a timestamp after all commands recorded so far. Timestamps count from 0.
  void timestamp();
  // Makes results visible to the host and to later submissions.
  Status end();

  // Adds this command buffer to the batch and submits it. `fence`, if not null, is signalled in addition to the own
  // one.
  Status submit(VkSubmitInfo batch = {}, VkFence fence = VK_NULL_HANDLE);
  bool pending() const { return pending_; }
  Status wait();
  // Nanoseconds of each timestamp of the last submission, after wait(). Empty if not `timed` or the device has no
  // timestamps. Allocates nothing; valid until the next call.
  Status timestamps(std::span<const double>* out);

  VkCommandBuffer handle() const { return buffer_; }

 private:
  struct Access {
    VkBuffer buffer;
    uint64_t begin, end;
    bool write;
  };
  void barrier_if_needed(std::span<const Access> accesses);
  // Before and after commands that are no dispatches.
  void begin_transfers();
  void end_transfers();
  void change_owner(const BufferRange& range, uint32_t from, uint32_t to);

  std::shared_ptr<Device> device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer buffer_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  uint32_t timestamps_ = 0, max_timestamps_ = 0;
  std::vector<uint64_t> ticks_;      // in device ticks
  std::vector<double> nanoseconds_;  // since the first
  bool pending_ = false, foreign_ = false;
  std::vector<Access> accesses_;  // since the last barrier
};

}  // namespace ferry::gpu
