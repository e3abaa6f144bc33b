#include "sdk/gpu/backend/states.h"

#include <algorithm>
#include <cstring>

#include "sdk/cpu/elementwise/state_elements.h"
#include "sdk/gpu/backend/layout.h"

namespace ferry::gpu {

Status DeviceStates::reserve(size_t state, const Shape& shape, bool* moved) {
  Copy& copy = copies_[state];
  *moved = false;
  const StateShape& held = states_->shapes()[state];
  const uint64_t wanted = held.fixed() ? host_bytes(shape) : stored_bytes(shape, storage_);
  if (wanted <= copy.buffer.bytes()) return {};
  const uint64_t enough = stored_bytes(held.bound, storage_);
  Copy grown;
  FERRY_TRY(device_->allocate(std::max(wanted, std::min(2 * copy.buffer.bytes(), enough)),
                              held.fixed() ? MemoryUse::Readback : MemoryUse::Device, &grown.buffer));
  copy = std::move(grown);
  *moved = true;
  return {};
}

uint64_t DeviceStates::bytes() const {
  uint64_t bytes = 0;
  for (const Copy& copy : copies_) bytes += copy.buffer.bytes();
  return bytes;
}

Status DeviceStates::bring_up(size_t state) {
  Copy& copy = copies_[state];
  const uint64_t version = states_->version(state);
  if (fixed(state)) {
    if (copy.version != version) std::memcpy(copy.buffer.mapped(), states_->data(state), copy.buffer.bytes());
    copy.version = 0;
    return copy.buffer.flush();
  }
  if (copy.version == version) return {};
  const Shape shape = states_->shapes()[state].shape();
  const cpu::StateElements stored(states_->shapes()[state]);
  const Rows all = rows_of(shape);
  if (all.rows > 0) {
    constexpr uint64_t kStagingBytes = 4 << 20;
    const uint64_t row = all.channels * sizeof(float);
    // this many rows start at an aligned offset
    const uint32_t alignment = static_cast<uint32_t>(device_->limits().offset_alignment);
    const uint32_t step = std::max(static_cast<uint32_t>(kStagingBytes / row) / alignment, 1u) * alignment;
    Buffer staging;
    FERRY_TRY(device_->allocate(std::min(step, all.rows) * row, MemoryUse::Upload, &staging));
    for (uint32_t first = 0; first < all.rows; first += step) {
      const uint32_t rows = std::min(step, all.rows - first);
      const Shape part = {static_cast<int32_t>(rows), static_cast<int32_t>(all.channels)};
      stored.load(states_->data(state), size_t{first} * all.channels, size_t{rows} * all.channels,
                  reinterpret_cast<float*>(staging.mapped()));
      FERRY_TRY(staging.flush());
      Commands commands(*device_);
      FERRY_TRY(commands.begin(1));
      const uint64_t offset = uint64_t{first} * all.quads() * quad_bytes(storage_);
      const Dispatch dispatch = transfer(Kernel::Upload, TensorId::None, part, storage_, device_->limits());
      FERRY_TRY(commands.dispatch(dispatch, {BufferRange{copy.buffer.handle(), offset, stored_bytes(part, storage_)},
                                             BufferRange{staging.handle(), 0, rows * row},
                                             {},
                                             {}}));
      FERRY_TRY(commands.end());
      FERRY_TRY(commands.submit());
      FERRY_TRY(commands.wait());
    }
  }
  copy.version = version;
  return {};
}

Status DeviceStates::bring_down(size_t state) {
  const Buffer& buffer = copies_[state].buffer;
  if (!fixed(state)) return {};
  FERRY_TRY(buffer.invalidate());
  std::memcpy(states_->next(state), buffer.mapped(), buffer.bytes());
  return {};
}

}  // namespace ferry::gpu
