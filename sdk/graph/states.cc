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
  for (size_t i = 0; i < states->count_; ++i) states->mark_changed(i);
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

uint64_t States::bytes_for(size_t state, int32_t rows) const {
  return (shapes_[state].fixed() ? 2 : static_cast<uint64_t>(rows)) * row_bytes(state);
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

// A state of fixed size begins with zeros.
void States::clear(size_t state, const Memory& memory) const {
  if (shapes_[state].fixed() && memory.bytes != nullptr) std::memset(memory.bytes.get(), 0, row_bytes(state));
}

Status States::reserve(size_t state, int32_t rows) {
  const StateShape& shape = shapes_[state];
  Memory& memory = memory_[state];
  const int32_t wanted = shape.fixed() ? 1 : std::min(rows, shape.bound[shape.axis]);
  if (wanted <= memory.capacity) return {};
  // A windowed state never needs more for runs of one token.
  const int64_t enough = shape.fixed() ? 1 : std::min(int64_t{shape.max_held()} + 1, int64_t{shape.bound[shape.axis]});
  const int64_t twice = int64_t{2} * memory.capacity;
  Memory grown;
  FERRY_TRY(allocate(state, static_cast<int32_t>(std::max<int64_t>(wanted, std::min(twice, enough))), &grown));
  clear(state, grown);
  if (!shape.fixed() && shape.held() > 0) std::memcpy(grown.bytes.get(), memory.bytes.get(), held_bytes(state, shape));
  grown.version = memory.version;
  memory = std::move(grown);
  ++moves_;
  return {};
}

void States::drop_unseen() {
  for (size_t i = 0; i < count_; ++i) {
    StateShape& state = shapes_[i];
    const int32_t dropped = state.oldest_needed() - state.first;
    if (dropped == 0) continue;
    state.first += dropped;
    std::memmove(data(i), data(i) + static_cast<uint64_t>(dropped) * row_bytes(i), held_bytes(i, state));
    mark_changed(i);
  }
}

void States::commit(size_t state, int32_t length) {
  shapes_[state].length = length;
  mark_changed(state);
  if (shapes_[state].fixed()) std::swap(memory_[state].bytes, memory_[state].next);
}

Status States::truncate(int32_t length) {
  for (size_t i = 0; i < count_; ++i) {
    const StateShape& state = shapes_[i];
    if (state.fixed() && length > 0 && state.length > length)
      return error(FERRY_UNSUPPORTED,
                   "state '%.64s' has fixed size and was computed from %d tokens: it can be cut to 0, not to %d",
                   name(i), state.length, length);
    StateShape shorter = state;
    shorter.length = std::min(state.length, length);
    if (length > 0 && state.first > shorter.newest_first())
      return error(FERRY_UNSUPPORTED,
                   "state '%.64s' keeps a window of %d and holds tokens from %d on: it goes back to %d or to 0, not to "
                   "%d",
                   name(i), state.window, state.first, state.first + state.window - 1, length);
  }
  for (size_t i = 0; i < count_; ++i) {
    if (shapes_[i].length > length) mark_changed(i);
    if (length == 0 && shapes_[i].length > 0) clear(i, memory_[i]);
    shapes_[i].length = std::min(shapes_[i].length, length);
    if (length == 0) shapes_[i].first = 0;
  }
  return {};
}

}  // namespace ferry
