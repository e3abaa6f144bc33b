// A session's states on the device, where kernels read them. They are copies in the session's precision, also of states
// that the host holds in fewer bits: appended rows (a few KB per token) are also copied to the host. States of fixed
// size lie in host-visible memory in the host's layout. So States always holds the data for other sessions, for files,
// and for the CPU when a device is lost.
#pragma once

#include <vector>

#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/device/device.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/graph/states.h"

namespace ferry::gpu {

class DeviceStates {
 public:
  DeviceStates(std::shared_ptr<States> states, std::shared_ptr<Device> device, Storage storage)
      : states_(std::move(states)), device_(std::move(device)), storage_(storage), copies_(states_->count()) {}

  // Reserves memory for state `state` with that shape; growing states at least double. The contents are uploaded again.
  // *moved: set if the address changed.
  Status reserve(size_t state, const Shape& shape, bool* moved);
  // The range of a state with that shape.
  BufferRange range(size_t state, const Shape& shape) const {
    return {copies_[state].buffer.handle(), 0, stored_bytes(shape, storage_)};
  }
  // The range of a state of fixed size.
  BufferRange range(size_t state) const { return {copies_[state].buffer.handle(), 0, copies_[state].buffer.bytes()}; }
  uint64_t bytes() const;

  // Uploads the state's contents unless the copy is current. A state of fixed size then counts as changed until
  // advanced() is called.
  Status bring_up(size_t state);
  // After a run: copies the next contents of a state of fixed size to the host.
  Status bring_down(size_t state);
  // Marks the copy as current after a run appended to it on the device.
  void advanced(size_t state) { copies_[state].version = states_->version(state); }

 private:
  struct Copy {
    Buffer buffer;
    uint64_t version = 0;  // of its contents
  };

  bool fixed(size_t state) const { return states_->shapes()[state].fixed(); }

  std::shared_ptr<States> states_;
  std::shared_ptr<Device> device_;
  Storage storage_;
  std::vector<Copy> copies_;
};

}  // namespace ferry::gpu
