#include "sdk/graph/states.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "sdk/model/verify_states.h"
#include "sdk/operators/type.h"

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
  return bytes_of(s.dtype, s.bound.elements() / (s.fixed() ? 1 : s.bound[s.axis]));
}

uint64_t States::bytes_for(size_t state, int32_t length) const {
  return static_cast<uint64_t>(rows(state, length)) * row_bytes(state) * (shapes_[state].fixed() ? 2 : 1);
}

uint64_t States::bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < count_; ++i) bytes += memory_[i].capacity == 0 ? 0 : bytes_for(i, memory_[i].capacity);
  return bytes;
}

int32_t States::length() const {
  int32_t length = 0;
  for (const StateShape& state : shapes()) length = std::max(length, state.length);
  return length;
}

Status States::allocate(size_t state, uint64_t bytes, Bytes* out) const {
  void* memory = ::operator new (bytes + kExtraBytes, std::align_val_t{kAlignment}, std::nothrow);
  if (memory == nullptr)
    return error(FERRY_OUT_OF_MEMORY, "state '%.64s': cannot allocate %" PRIu64 " bytes", name(state), bytes);
  out->reset(static_cast<std::byte*>(memory));
  std::memset(out->get() + bytes, 0, kExtraBytes);
  return {};
}

Status States::allocate(size_t state, int32_t capacity, Memory* out) const {
  const uint64_t bytes = static_cast<uint64_t>(capacity) * row_bytes(state);
  FERRY_TRY(allocate(state, bytes, &out->bytes));
  if (shapes_[state].fixed()) FERRY_TRY(allocate(state, bytes, &out->next));
  out->capacity = capacity;
  return {};
}

// One of fixed size begins with zeros.
void States::clear(size_t state, const Memory& memory) const {
  if (shapes_[state].fixed() && memory.bytes != nullptr) std::memset(memory.bytes.get(), 0, row_bytes(state));
}

Status States::reserve(size_t state, int32_t length) {
  const StateShape& shape = shapes_[state];
  Memory& memory = memory_[state];
  const int32_t bound = shape.fixed() ? 1 : shape.bound[shape.axis];
  const int32_t wanted = std::min(rows(state, length), bound);
  if (wanted <= memory.capacity) return {};
  Memory grown;
  const int64_t twice = int64_t{2} * memory.capacity;
  FERRY_TRY(allocate(state, static_cast<int32_t>(std::clamp<int64_t>(twice, wanted, bound)), &grown));
  clear(state, grown);
  if (!shape.fixed() && shape.length > 0)
    std::memcpy(grown.bytes.get(), memory.bytes.get(), static_cast<uint64_t>(shape.length) * row_bytes(state));
  memory = std::move(grown);
  ++moves_;
  return {};
}

void States::commit(size_t state, int32_t length) {
  shapes_[state].length = length;
  if (shapes_[state].fixed()) std::swap(memory_[state].bytes, memory_[state].next);
}

Status States::truncate(int32_t length) {
  for (size_t i = 0; i < count_; ++i) {
    const StateShape& state = shapes_[i];
    if (state.fixed() && length > 0 && state.length > length)
      return error(FERRY_UNSUPPORTED,
                   "state '%.64s' is of fixed size and holds what %d tokens came to: it goes back to 0, not to %d",
                   name(i), state.length, length);
  }
  for (size_t i = 0; i < count_; ++i) {
    if (length == 0 && shapes_[i].length > 0) clear(i, memory_[i]);
    shapes_[i].length = std::min(shapes_[i].length, length);
  }
  return {};
}

}  // namespace ferry
