#include "sdk/graph/states.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "sdk/model/dtype.h"
#include "sdk/model/verify_states.h"

namespace ferry {

Status States::create(std::shared_ptr<const Model> model, std::shared_ptr<States>* out) {
  std::unique_ptr<States> states(new (std::nothrow) States(std::move(model)));
  StateShapes shapes;
  if (states != nullptr) FERRY_TRY(verify_states(states->model_->root(), &shapes));
  if (states != nullptr) states->memory_.reset(new (std::nothrow) Memory[shapes.count]);
  if (states == nullptr || states->memory_ == nullptr)
    return error(FERRY_OUT_OF_MEMORY, "no memory for %zu states", shapes.count);
  states->count_ = shapes.count;
  states->shapes_ = std::move(shapes.list);
  *out = std::move(states);
  return {};
}

const char* States::name(size_t state) const {
  return model_->root().states()->Get(static_cast<unsigned>(state))->name()->c_str();
}

uint64_t States::row_bytes(size_t state) const {
  const StateShape& s = shapes_[state];
  return static_cast<uint64_t>(s.bound.elements() / s.bound[s.axis]) * dtype_size(s.dtype);
}

uint64_t States::bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < count_; ++i) bytes += static_cast<uint64_t>(memory_[i].capacity) * row_bytes(i);
  return bytes;
}

int32_t States::length() const {
  int32_t length = 0;
  for (const StateShape& state : shapes()) length = std::max(length, state.length);
  return length;
}

Status States::allocate(size_t state, int32_t capacity, Memory* out) const {
  const uint64_t bytes = static_cast<uint64_t>(capacity) * row_bytes(state);
  void* memory = ::operator new (bytes + kExtraBytes, std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr)
    return error(FERRY_OUT_OF_MEMORY, "state '%.64s': cannot allocate %" PRIu64 " bytes for a length of %d",
                 name(state), bytes, capacity);
  out->bytes.reset(static_cast<std::byte*>(memory));
  out->capacity = capacity;
  std::memset(out->bytes.get() + bytes, 0, kExtraBytes);
  return {};
}

Status States::reserve(size_t state, int32_t length) {
  const StateShape& shape = shapes_[state];
  Memory& memory = memory_[state];
  const int32_t bound = shape.bound[shape.axis];
  const int32_t wanted = std::min(length, bound);
  if (wanted <= memory.capacity) return {};
  Memory grown;
  const int64_t twice = int64_t{2} * memory.capacity;
  FERRY_TRY(allocate(state, static_cast<int32_t>(std::clamp<int64_t>(twice, wanted, bound)), &grown));
  if (shape.length > 0)
    std::memcpy(grown.bytes.get(), memory.bytes.get(), static_cast<uint64_t>(shape.length) * row_bytes(state));
  memory = std::move(grown);
  ++moves_;
  return {};
}

void States::truncate(int32_t length) {
  for (size_t i = 0; i < count_; ++i) shapes_[i].length = std::min(shapes_[i].length, length);
}

}  // namespace ferry
