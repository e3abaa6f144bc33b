// The states of a blob: memory that persists between runs (sdk/schema/ferry.fbs, `State`). A session has its own, or
// shares them with other sessions of the blob's graphs. One thread uses them at a time.
//
// States are updated when a run has succeeded. A run appends to a growing state, and writes a second copy of a state of
// fixed size. Before a run, a windowed state drops the tokens that are no longer visible and moves the rest to the
// front.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "sdk/model/model.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/status.h"

namespace ferry {

class States {
 public:
  // Creates empty states without memory. Keeps the model alive. `widest`: states with blocks have no more bits than
  // that type, which is Float32, Float16 or Int8.
  static Status create(std::shared_ptr<const Model> model, fbs::DType widest, std::shared_ptr<States>* out);

  const Model& model() const { return *model_; }
  size_t count() const { return count_; }
  const char* name(size_t state) const;
  // Present shapes, and the types of the contents, which may have fewer bits than in the blob.
  std::span<const StateShape> shapes() const { return {shapes_.get(), count_}; }
  // Contents of state `state`, row-major, followed by kExtraBytes that may be read. Null before the first reserve().
  std::byte* data(size_t state) const { return memory_[state].bytes.get(); }
  // Second copy of a state of fixed size, which a run writes. The two are swapped after the run.
  std::byte* next(size_t state) const { return memory_[state].next.get(); }
  // Incremented when an address changes, except by swapping the two copies.
  uint64_t moves() const { return moves_; }
  // Changes whenever the contents change, for backends that keep a copy; never 0.
  uint64_t version(size_t state) const { return memory_[state].version; }
  // Bytes allocated for all states.
  uint64_t bytes() const;
  // Maximum length of all states.
  int32_t length() const;

  // Minimum bytes that reserve() of `rows` allocates.
  uint64_t bytes_for(size_t state, int32_t rows) const;
  // Allocates memory for `rows` along the axis (at most the bound), or for a whole state of fixed size. Contents are
  // kept, and stay where they are: addresses are reserved up to the bound, where the system has as many. Memory at
  // least doubles, except for a windowed state, whose maximum is known; pages that are not written take none. On
  // failure nothing changes. FERRY_OUT_OF_MEMORY.
  Status reserve(size_t state, int32_t rows);
  // Drops tokens before the windows. Called before a run's shapes are inferred.
  void drop_unseen();
  // Makes the rows that a run wrote part of the state; `length` is its total length.
  void commit(size_t state, int32_t length);
  // Cuts every longer state to its first `length` rows. FERRY_UNSUPPORTED, and nothing changes: a state of fixed size
  // is longer and `length` is not 0, or a windowed state has dropped tokens needed there.
  Status truncate(int32_t length);

  // Writes all contents and the caller's note to a file (docs/format.md, "Saved states") beside `path` and renames it.
  // FERRY_IO_ERROR.
  Status save(const char* path, std::span<const std::byte> note) const;
  // Called with a file's note and the length of its longest state when the whole file was read. If it fails, load()
  // fails.
  using ReadNote = std::function<Status(std::span<const std::byte> note, int32_t length)>;
  // Replaces the contents of all states; on failure they are unchanged. `read_note` may be empty. FERRY_IO_ERROR;
  // FERRY_CORRUPT: not such a file, of another model, or damaged; FERRY_UNSUPPORTED_VERSION; FERRY_OUT_OF_MEMORY.
  Status load(const char* path, const ReadNote& read_note);

  // Acquires the states for one run or change; false if another thread has them. release() returns them.
  bool acquire() { return !in_use_.exchange(true, std::memory_order_acquire); }
  void release() { in_use_.store(false, std::memory_order_release); }

 private:
  struct Unmap {
    Unmap() : reserved(0) {}
    explicit Unmap(size_t bytes) : reserved(bytes) {}
    void operator()(std::byte* bytes) const;
    size_t reserved;
  };
  using Bytes = std::unique_ptr<std::byte, Unmap>;  // whole pages, of which the first are memory
  struct Memory {
    Bytes bytes, next;
    int32_t capacity = 0;  // rows allocated along the axis; of fixed size: 1 once allocated
    uint64_t version = 0;
  };

  explicit States(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  // Number of rows stored at that shape; a state of fixed size that was never computed stores none.
  static int32_t rows(const StateShape& shape) { return shape.fixed() ? std::min(shape.length, 1) : shape.held(); }
  static uint64_t held_bytes(const StateShape& shape) { return static_cast<uint64_t>(rows(shape)) * shape.row_bytes(); }
  Status allocate(size_t state, int32_t capacity, Memory* out) const;
  Status allocate(size_t state, uint64_t bytes, uint64_t bound, Bytes* out) const;
  Status commit_memory(size_t state, uint64_t bytes, const Bytes& reserved) const;
  void clear(size_t state, const Memory& memory) const;
  void mark_changed(size_t state) { memory_[state].version = ++versions_; }

  std::shared_ptr<const Model> model_;
  size_t count_ = 0;
  std::unique_ptr<StateShape[]> shapes_;
  std::unique_ptr<Memory[]> memory_;
  uint64_t moves_ = 0, versions_ = 0;
  std::atomic<bool> in_use_{false};
};

// Acquires the states during its lifetime, if they are free.
class StatesLock {
 public:
  // `states` may be null: nothing is acquired.
  explicit StatesLock(States* states) : states_(states), taken_(states == nullptr || states->acquire()) {}
  ~StatesLock() {
    if (states_ != nullptr && taken_) states_->release();
  }
  StatesLock(const StatesLock&) = delete;
  StatesLock& operator=(const StatesLock&) = delete;

  // FERRY_INVALID_ARGUMENT: another thread uses them.
  Status status() const { return taken_ ? Status() : Status(kInUse); }

 private:
  static constexpr Status::Failure kInUse = {FERRY_INVALID_ARGUMENT, "the states are in use by another run"};

  States* states_;
  bool taken_;
};

}  // namespace ferry
