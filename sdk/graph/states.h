// The states of a blob: memory that outlives a run (sdk/schema/ferry.fbs, `State`). Each session has its own, or shares
// them with other sessions of the blob's graphs; one thread uses them at a time.
//
// What a run gives becomes what they hold when it has ended well: to a state that grows it writes behind what is there,
// one of fixed size has a second copy for it. Of one with a window a run begins by dropping what is no longer seen: the
// rest moves to the front.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <span>

#include "sdk/model/model.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/status.h"

namespace ferry {

class States {
 public:
  // All empty, without memory yet. Holds on to the model.
  static Status create(std::shared_ptr<const Model> model, std::shared_ptr<States>* out);

  const Model& model() const { return *model_; }
  size_t count() const { return count_; }
  const char* name(size_t state) const;
  // What they hold now.
  std::span<const StateShape> shapes() const { return {shapes_.get(), count_}; }
  // What state `state` holds, row-major; kExtraBytes more may be read. Null before the first reserve().
  std::byte* data(size_t state) const { return memory_[state].bytes.get(); }
  // Of one of fixed size: where a run writes it anew. The two change places when it has.
  std::byte* next(size_t state) const { return memory_[state].next.get(); }
  // Rises whenever an address changes, but for those two.
  uint64_t moves() const { return moves_; }
  // Another number whenever the state holds something else, for who keeps a copy of it; never 0.
  uint64_t version(size_t state) const { return memory_[state].version; }
  // Of all states: what is allocated.
  uint64_t bytes() const;
  // The most that any of them holds.
  int32_t length() const;

  // Bytes that reserve() of these rows takes at least.
  uint64_t bytes_for(size_t state, int32_t rows) const;
  // Room for `rows` along the axis, at most the bound, or for one of fixed size. Contents stay. May allocate: at
  // least as much again as there is, but of one with a window no more than it comes to. On failure everything stays as
  // it was. FERRY_OUT_OF_MEMORY.
  Status reserve(size_t state, int32_t rows);
  // Before a run's shapes are inferred: what lies before the windows goes.
  void drop_unseen();
  // What a run wrote counts as held now, `length` in all.
  void commit(size_t state, int32_t length);
  // Every state that is longer keeps the first `length`. FERRY_UNSUPPORTED: one of fixed size is longer, and has
  // forgotten the way back to any length but 0, or one with a window has dropped what would be seen there; then nothing
  // changes.
  Status truncate(int32_t length);

  // The contents of all states and the caller's note as a file (docs/format.md, "Saved states"), written beside and
  // renamed. FERRY_IO_ERROR.
  Status save(const char* path, std::span<const std::byte> note) const;
  // Is told of a file's note and the length of its longest state when all of it was read; where it fails, so does
  // load().
  using ReadNote = std::function<Status(std::span<const std::byte> note, int32_t length)>;
  // Replaces the contents of all states; on failure they stay as they were. `read_note` may be empty. FERRY_IO_ERROR,
  // FERRY_CORRUPT: not such a file, of another model, or damaged; FERRY_UNSUPPORTED_VERSION, FERRY_OUT_OF_MEMORY.
  Status load(const char* path, const ReadNote& read_note);

  // Takes the states for one run or change; false where another has them. release() gives them back.
  bool acquire() { return !in_use_.exchange(true, std::memory_order_acquire); }
  void release() { in_use_.store(false, std::memory_order_release); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete (bytes, std::align_val_t{kAlignment}); }
  };
  using Bytes = std::unique_ptr<std::byte, Free>;
  struct Memory {
    Bytes bytes, next;
    int32_t capacity = 0;  // along the axis; of fixed size: 1 once there is memory
    uint64_t version = 0;
  };

  explicit States(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  uint64_t row_bytes(size_t state) const;  // of one index of the axis; of fixed size: of all
  // How many of these a state holds of that shape, where one that was never computed holds nothing.
  static int32_t rows(const StateShape& shape) { return shape.fixed() ? std::min(shape.length, 1) : shape.held(); }
  uint64_t held_bytes(size_t state, const StateShape& shape) const {
    return static_cast<uint64_t>(rows(shape)) * row_bytes(state);
  }
  Status allocate(size_t state, int32_t capacity, Memory* out) const;
  Status allocate(size_t state, uint64_t bytes, Bytes* out) const;
  void clear(size_t state, const Memory& memory) const;
  void mark_changed(size_t state) { memory_[state].version = ++versions_; }

  std::shared_ptr<const Model> model_;
  size_t count_ = 0;
  std::unique_ptr<StateShape[]> shapes_;
  std::unique_ptr<Memory[]> memory_;
  uint64_t moves_ = 0, versions_ = 0;
  std::atomic<bool> in_use_{false};
};

// Takes the states while it lives, where they are free.
class StatesLock {
 public:
  // `states` may be null: nothing to take.
  explicit StatesLock(States* states) : states_(states), taken_(states == nullptr || states->acquire()) {}
  ~StatesLock() {
    if (states_ != nullptr && taken_) states_->release();
  }
  StatesLock(const StatesLock&) = delete;
  StatesLock& operator=(const StatesLock&) = delete;

  // FERRY_INVALID_ARGUMENT: another thread has them.
  Status status() const { return taken_ ? Status() : Status(kInUse); }

 private:
  static constexpr Status::Failure kInUse = {FERRY_INVALID_ARGUMENT, "the states are in use by another run"};

  States* states_;
  bool taken_;
};

}  // namespace ferry
