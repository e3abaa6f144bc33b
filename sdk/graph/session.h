// One network, planned for one input size, run by one thread at a time.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sdk/graph/backend.h"
#include "sdk/graph/session_options.h"
#include "sdk/graph/states.h"
#include "sdk/model/memory_budget.h"
#include "sdk/model/model.h"
#include "sdk/operators/shape.h"
#include "sdk/status.h"

namespace ferry {

class Session {
 public:
  // Where options.backend is the GPU and that cannot be used, the session is made for the CPU: gpu_status() says why.
  // With options.gpu_required it fails with that status instead.
  static Status create(std::shared_ptr<const Model> model, const SessionOptions& options,
                       std::unique_ptr<Session>* out);

  // The graph that the session runs.
  const Model& model() const { return *model_; }
  // Where it names a state; null otherwise.
  const std::shared_ptr<States>& states() const { return options_.states; }

  // Takes another shape for graph input `input`. The other inputs keep their contents. On failure everything stays as
  // it was: shapes, addresses, contents. Within the inputs' bounds nothing is planned anew nor allocated, on the CPU. A
  // GPU that cannot follow is left for the CPU, unless it is required.
  Status resize(size_t input, const Shape& shape);
  // The same for all graph inputs at once: one shape each, in their order.
  Status resize(std::span<const Shape> shapes);
  // The inputs' present shapes in memory of the session's own, for a caller that changes some and calls resize().
  std::span<Shape> input_shapes();
  // Makes room for these shapes of all graph inputs, so that resize() up to them allocates nothing. The present shapes
  // stay.
  Status reserve(std::span<const Shape> shapes);

  // Runs every operator in order. Allocates nothing, but in the one run that loses the GPU: that one is done again by
  // a backend of the CPU, made there and then, which serves all later runs; where a state outgrows its memory, and on a
  // GPU where one has another length.
  // States hold what the run gave them only if it ends well. FERRY_CANCELLED: cancel() was called meanwhile.
  // FERRY_STATE_FULL. `lasting`: Unchanged where the caller wrote to no static input since the last run.
  Status run(Static lasting = Static::Changed);
  // A run is on its way, in another thread: from now on cancel() finds it.
  void begin();
  // Do outputs hold what a run gave, at the present shapes?
  bool answered() const { return answered_; }
  // Makes the run in progress stop; without one, does nothing. Any thread.
  void cancel();

  // While it lives, the session's runs are one to whoever cancels: a cancel() between two of them ends the next.
  class Runs {
   public:
    explicit Runs(Session& session) : session_(session) {
      session_.in_runs_ = true;
      session_.begin();
    }
    ~Runs() {
      session_.in_runs_ = false;
      session_.progress_.store(Progress::Idle);
    }
    Runs(const Runs&) = delete;
    Runs& operator=(const Runs&) = delete;

   private:
    Session& session_;
  };

  // A run that was submitted to the backend (sdk/gpu/device/interop.h) and not yet waited for.
  bool submitted() const { return backend_->submitted(); }
  Status finish() {
    Status status = backend_->finish();
    answered_ = status.ok();
    return status;
  }

  // Present shape and address of an input, an output or a kept tap. Constants give the blob's read-only bytes.
  const Shape& shape(TensorId tensor) const { return shapes_[tensor]; }
  void* data(TensorId tensor) const { return backend_->data(tensor); }

  // The tap of that name, where the session keeps it. FERRY_NOT_FOUND otherwise.
  Status tap(std::string_view name, const fbs::Port** port) const;

  uint64_t arena_bytes() const;

  // The session's threads, between its runs.
  Pool* pool() const { return pool_.get(); }

  // What did the last run, or will do the first: its times and its report.
  const Backend& computing() const { return stand_in_ != nullptr ? *stand_in_ : *backend_; }
  Backend& computing() { return stand_in_ != nullptr ? *stand_in_ : *backend_; }
  // Why the GPU is not used though it was asked for.
  const Status& gpu_status() const { return gpu_status_; }
  // How many threads there are, if fewer than were asked for; "" otherwise.
  const std::string& threads_note() const { return threads_note_; }
  // Including the caller.
  size_t threads() const { return pool_->threads(); }
  // Those that its threads keep to, "0-3,6"; "" where that is not the session's to say.
  const std::string& cpus() const { return cpus_; }
  // Puts the calling thread there, a thread of the session's own.
  void place_this_thread() const { pool_->place_this_thread(); }

 private:
  Session() = default;
  Status open_pool();
  Status choose_cpus(const CpuSet& allowed, CpuSet* cpus) const;
  Status choose_taps();
  Status make_backend(ferry_backend backend, std::unique_ptr<Backend>* out) const;
  // A backend of the CPU with the present shapes and inputs.
  Status make_stand_in(std::unique_ptr<Backend>* out) const;
  bool on_gpu() const { return computing().report().backend == FERRY_BACKEND_GPU; }
  Status open_states();
  // The largest shapes: of the inputs as given, or else as the graph's ports say; empty where there are none.
  Status infer_bounds(std::span<const Shape> inputs, Shapes* out);
  // From the inputs' shapes in next_ to all others. `states`: what they hold.
  Status infer_next(std::span<const StateShape> states);
  Status follow_inputs();
  // Makes next_ the session's shapes: in place where there is room, or planned anew.
  Status adopt_next();
  Status reserve_states(const Shapes& shapes);
  // What the states hold now is what the shapes are for.
  Status follow_states();
  void advance_states();
  Status prepare(const Shapes& shapes, const Shapes& bounds);
  Status compute(Static lasting);
  void copy_inputs(const Backend& from, const Backend& to) const;
  void copy_results(const Backend& from, const Backend& to) const;
  void copy(TensorId tensor, const Backend& from, const Backend& to) const;

  std::shared_ptr<const Model> model_;  // first: it outlives the backends, which use its weights
  std::unique_ptr<MemoryBudget> budget_;
  SessionOptions options_;  // names in it are read by create() only
  std::atomic<Progress> progress_{Progress::Idle};
  std::unique_ptr<Pool> pool_;
  std::string threads_note_, cpus_;
  std::vector<uint8_t> kept_taps_;    // by index in Graph.taps
  Shapes shapes_;                     // of every tensor
  Shapes next_;                       // those being tried
  Shapes bounds_;                     // the largest that there shall be room for; empty: none but shapes_
  std::vector<Shape> operands_;       // of the operator at hand
  std::vector<Shape> input_shapes_;   // see input_shapes()
  std::vector<StateShape> followed_;  // what the states held for shapes_
  uint64_t followed_moves_ = 0;
  std::unique_ptr<Backend> backend_;
  // The CPU in the place of a lost GPU. backend_ goes on holding the memory that the app knows, until a resize.
  std::unique_ptr<Backend> stand_in_;
  Status gpu_status_;
  bool answered_ = false;
  bool in_runs_ = false;        // see Runs
  bool resize_failed_ = false;  // the last one: then the present shape is prepared again when it is asked for
};

}  // namespace ferry
