// A command buffer of dispatches, recorded once and submitted any number of times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sdk/gpu/device/device.h"
#include "sdk/gpu/lowering/program.h"

namespace ferry::gpu {

// A range of a buffer, aligned as a binding must be.
struct Place {
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0, bytes = 0;
};

class Commands {
 public:
  explicit Commands(Device& device) : device_(device.shared_from_this()) {}
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  // Room for that many dispatches, and that many + 1 timestamps where `timed`. `foreign`: buffers are the app's, who
  // does with them whatever it likes before and after.
  Status begin(size_t dispatches, bool timed = false, bool foreign = false);
  // Waits for earlier dispatches where they touch the same bytes. An operand that is None is given the output's place.
  Status dispatch(const Dispatch& dispatch, const std::array<Place, kBindings>& places);
  // As many bytes as `from` has, after all dispatches before it and before all that follow. Needs no room.
  void copy(const Place& from, const Place& to);
  // The device's queue takes memory over that others write, before the dispatches that read it, or gives it back.
  void acquire(const Place& place) { change_owner(place, device_->foreign_family(), device_->queue_family()); }
  void release(const Place& place) { change_owner(place, device_->queue_family(), device_->foreign_family()); }
  // All that was recorded so far is done at this timestamp; they count from 0.
  void timestamp();
  // Results become visible to the host and to later submissions.
  Status end();

  // The batch gets this command buffer; `fence`, where it is not null, is signalled along with the own one.
  Status submit(VkSubmitInfo batch = {}, VkFence fence = VK_NULL_HANDLE);
  bool pending() const { return pending_; }
  Status wait();
  // Nanoseconds of each timestamp of the last submission, once it is waited for; nothing where `timed` was not given or
  // the device has no timestamps. Allocates nothing; valid until the next call.
  Status timestamps(std::span<const double>* out);

  VkCommandBuffer handle() const { return buffer_; }

 private:
  struct Access {
    VkBuffer buffer;
    uint64_t begin, end;
    bool write;
  };
  void barrier_if_needed(std::span<const Access> accesses);
  void change_owner(const Place& place, uint32_t from, uint32_t to);

  std::shared_ptr<Device> device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer buffer_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  uint32_t timestamps_ = 0, max_timestamps_ = 0;
  std::vector<uint64_t> ticks_;      // as the device counts
  std::vector<double> nanoseconds_;  // since the first
  bool pending_ = false, foreign_ = false;
  std::vector<Access> accesses_;  // since the last barrier
};

}  // namespace ferry::gpu
