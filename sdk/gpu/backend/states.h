// A session's states on the device, where kernels read them. They are copies: what runs append goes to the host, too
// (some KB a token), and so do those of fixed size, which lie in memory that the host sees, as it lays them out. So
// States holds all of it for other sessions, for files, and for the CPU when a device is lost.
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

  // Room for state `state` of that shape, of one that grows at least as much again as there was. What it held comes up
  // anew. *moved: its place is another.
  Status reserve(size_t state, const Shape& shape, bool* moved);
  // Of the state with that shape.
  Place place(size_t state, const Shape& shape) const {
    return {copies_[state].buffer.handle(), 0, stored_bytes(shape, storage_)};
  }
  // Of one of fixed size.
  Place place(size_t state) const { return {copies_[state].buffer.handle(), 0, copies_[state].buffer.bytes()}; }
  uint64_t bytes() const;

  // Brings up what the state holds, unless it is there. One of fixed size counts as changed from then on, until it has
  // advanced.
  Status bring_up(size_t state);
  // After a run, of one of fixed size: gives the host what it holds next.
  Status bring_down(size_t state);
  // What a run appended on the device is what the state holds now.
  void advanced(size_t state) { copies_[state].version = states_->version(state); }

 private:
  struct Copy {
    Buffer buffer;
    uint64_t version = 0;  // of what it holds
  };

  bool fixed(size_t state) const { return states_->shapes()[state].fixed(); }

  std::shared_ptr<States> states_;
  std::shared_ptr<Device> device_;
  Storage storage_;
  std::vector<Copy> copies_;
};

}  // namespace ferry::gpu
