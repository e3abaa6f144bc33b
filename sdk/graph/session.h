// One network, planned for one input size, run by one thread at a time.
#pragma once

#include <pthreadpool.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sdk/cpu/op.h"
#include "sdk/graph/plan.h"
#include "sdk/graph/shape.h"
#include "sdk/model/model.h"
#include "sdk/status.h"

namespace ferry {

struct SessionOptions {
  static constexpr uint64_t kDefaultMemoryLimit = uint64_t{4} << 30;

  int num_threads = 0;                // including the caller; 0: one a core
  pthreadpool_t pool = nullptr;       // the caller's, which outlives the session; nullptr: the session's own
  std::span<const char* const> taps;  // names of the taps to keep
  bool all_taps = false;
  bool profile = false;
  uint64_t memory_limit = kDefaultMemoryLimit;  // bytes of the arena at most; 0: the default
};

class Session {
 public:
  static Status create(std::shared_ptr<const Model> model, const SessionOptions& options,
                       std::unique_ptr<Session>* out);
  ~Session();

  const Model& model() const { return *model_; }

  // Plans anew for another shape of graph input `input`. The other inputs keep their contents. On failure everything
  // stays as it was: shapes, addresses, contents.
  Status resize(size_t input, const Shape& shape);

  // Runs every operator in order. Allocates nothing. FERRY_CANCELLED: cancel() was called meanwhile.
  Status run();
  // Makes the run in progress stop after the operator at work; without one, does nothing. Any thread.
  void cancel();

  // Present shape and address of an input, an output or a kept tap, by its index in Model.tensors. Constants give the
  // blob's read-only bytes.
  const Shape& shape(int tensor) const { return layout_.shapes[static_cast<size_t>(tensor)]; }
  void* data(int tensor) const;

  // The tap of that name, where the session keeps it. FERRY_NOT_FOUND otherwise.
  Status tap(std::string_view name, const fbs::Port** port) const;

  uint64_t arena_bytes() const { return layout_.plan.arena_bytes; }
  // Microseconds that each operator took in the last run; empty unless SessionOptions.profile.
  std::span<const double> microseconds() const { return microseconds_; }

 private:
  struct FreeArena {
    void operator()(std::byte* arena) const;
  };
  struct ClosePool {
    void operator()(pthreadpool_t pool) const { pthreadpool_destroy(pool); }
  };
  // All that depends on the input shapes.
  struct Layout {
    std::vector<Shape> shapes;  // of every tensor
    Plan plan;
    std::unique_ptr<std::byte, FreeArena> arena;
  };
  enum class Progress { Idle, Running, Cancelled };

  Session() = default;
  Status open_pool(const SessionOptions& options);
  Status choose_taps(const SessionOptions& options);
  Status infer_shapes(Layout* layout) const;
  Status plan(const std::vector<uint64_t>& workspaces, Layout* layout) const;
  Status reshape_ops(const std::vector<Shape>& shapes, std::vector<uint64_t>* workspaces);
  Status setup_ops(const Layout& layout);
  // Lays out everything for `layout->shapes` of the graph inputs. Leaves the operators changed where it fails.
  Status prepare(Layout* layout, bool* ops_changed);
  void* address(const Layout& layout, int tensor) const;

  std::shared_ptr<const Model> model_;  // first: it outlives the operators, which use its weights
  std::unique_ptr<pthreadpool, ClosePool> own_pool_;
  pthreadpool_t pool_ = nullptr;
  uint64_t memory_limit_ = 0;
  std::vector<bool> kept_taps_;  // by index in Model.taps
  std::vector<std::unique_ptr<cpu::Op>> ops_;
  Layout layout_;
  std::vector<double> microseconds_;
  std::atomic<Progress> progress_{Progress::Idle};
  bool usable_ = true;
};

}  // namespace ferry
