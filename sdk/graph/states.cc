#include "sdk/graph/states.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <new>

#include "sdk/model/verify_states.h"
#include "sdk/operators/type.h"

namespace ferry {

Status States::create(std::shared_ptr<const Model> model, fbs::DType widest, std::shared_ptr<States>* out) {
  std::unique_ptr<States> states(new (std::nothrow) States(std::move(model)));
  StateShapes shapes;
  if (states != nullptr) FERRY_TRY(verify_states(states->model_->root(), &shapes));
  if (states != nullptr) states->memory_.reset(new (std::nothrow) Memory[shapes.count]);
  if (states == nullptr || states->memory_ == nullptr)
    return error(FERRY_OUT_OF_MEMORY, "no memory for %zu states", shapes.count);
  states->count_ = shapes.count;
  states->shapes_ = std::move(shapes.list);
  bool may = widest == fbs::DType::Float32;
  for (size_t i = 0; i < states->count_; ++i) {
    StateShape& shape = states->shapes_[i];
    may = may || shape.block > 0;
    if (shape.block > 0 && bits_of(widest) < bits_of(shape.dtype)) shape.dtype = widest;
    states->mark_changed(i);
  }
  if (!may)
    return error(FERRY_UNSUPPORTED,
                 "options.state_dtype: no state of the blob is marked as keys or values: convert it "
                 "again, or keep FERRY_FLOAT32");
  *out = std::move(states);
  return {};
}

const char* States::name(size_t state) const {
  return model_->root().states()->Get(static_cast<unsigned>(state))->name()->c_str();
}

uint64_t States::bytes_for(size_t state, int32_t rows) const {
  return (shapes_[state].fixed() ? 2 : static_cast<uint64_t>(rows)) * shapes_[state].row_bytes();
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

void States::Unmap::operator()(std::byte* bytes) const { ::munmap(bytes, reserved); }

Status States::commit_memory(size_t state, uint64_t bytes, const Bytes& reserved) const {
  if (bytes + kExtraBytes <= reserved.get_deleter().reserved &&
      ::mprotect(reserved.get(), static_cast<size_t>(bytes + kExtraBytes), PROT_READ | PROT_WRITE) == 0)
    return {};
  return error(FERRY_OUT_OF_MEMORY, "state '%.64s': cannot allocate %" PRIu64 " bytes", name(state), bytes);
}

Status States::allocate(size_t state, uint64_t bytes, uint64_t bound, Bytes* out) const {
  // Where addresses are scarce, no more are taken than have memory.
  rlimit limit{};
  const bool scarce = sizeof(void*) < 8 || ::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
  void* memory = MAP_FAILED;
  for (uint64_t size = scarce ? bytes : bound; memory == MAP_FAILED; size = std::max(bytes, size / 2)) {
    const auto reserved = static_cast<size_t>(std::min<uint64_t>(size, SIZE_MAX / 2) + kExtraBytes);
    memory = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) *out = Bytes(static_cast<std::byte*>(memory), Unmap(reserved));
    if (size == bytes) break;
  }
  return commit_memory(state, bytes, *out);
}

Status States::allocate(size_t state, int32_t capacity, Memory* out) const {
  const StateShape& shape = shapes_[state];
  const uint64_t row = shape.row_bytes(), bytes = static_cast<uint64_t>(capacity) * row;
  const uint64_t bound = shape.fixed() ? bytes : static_cast<uint64_t>(shape.bound[shape.axis]) * row;
  FERRY_TRY(allocate(state, bytes, bound, &out->bytes));
  if (shape.fixed()) FERRY_TRY(allocate(state, bytes, bytes, &out->next));
  out->capacity = capacity;
  return {};
}

// A state of fixed size begins with zeros.
void States::clear(size_t state, const Memory& memory) const {
  if (shapes_[state].fixed() && memory.bytes != nullptr) std::memset(memory.bytes.get(), 0, shapes_[state].row_bytes());
}

Status States::reserve(size_t state, int32_t rows) {
  const StateShape& shape = shapes_[state];
  Memory& memory = memory_[state];
  const int32_t wanted = shape.fixed() ? 1 : std::min(rows, shape.bound[shape.axis]);
  if (wanted <= memory.capacity) return {};
  // A windowed state never needs more for runs of one token.
  const int64_t enough = shape.fixed() ? 1 : std::min(int64_t{shape.max_held()} + 1, int64_t{shape.bound[shape.axis]});
  const int64_t twice = int64_t{2} * memory.capacity;
  const auto capacity = static_cast<int32_t>(std::max<int64_t>(wanted, std::min(twice, enough)));
  const uint64_t bytes = static_cast<uint64_t>(capacity) * shape.row_bytes();
  if (bytes + kExtraBytes <= memory.bytes.get_deleter().reserved) {
    FERRY_TRY(commit_memory(state, bytes, memory.bytes));
    memory.capacity = capacity;
    return {};
  }
  Memory grown;
  FERRY_TRY(allocate(state, capacity, &grown));  // zeros, as a state of fixed size begins
  if (!shape.fixed() && shape.held() > 0) std::memcpy(grown.bytes.get(), memory.bytes.get(), held_bytes(shape));
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
    std::memmove(data(i), data(i) + static_cast<uint64_t>(dropped) * state.row_bytes(), held_bytes(state));
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
