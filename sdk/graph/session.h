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
  // If options.backend is the GPU and it cannot be used, the session runs on the CPU, and gpu_status() says why. With
  // options.gpu_required, the call fails with that status instead.
  static Status create(std::shared_ptr<const Model> model, const SessionOptions& options,
                       std::unique_ptr<Session>* out);

  // The graph that the session runs.
  const Model& model() const { return *model_; }
  // The states of a graph that names states; null otherwise.
  const std::shared_ptr<States>& states() const { return options_.states; }

  // Sets the shape of graph input `input`. Other inputs keep their contents. On failure shapes, addresses and contents
  // are unchanged. Within the inputs' bounds, the CPU backend plans and allocates nothing. If the GPU cannot follow,
  // the session moves to the CPU, unless the GPU is required.
  Status resize(size_t input, const Shape& shape);
  // The same for all graph inputs: one shape each, in their order.
  Status resize(std::span<const Shape> shapes);
  // A copy of the inputs' present shapes in the session's memory. The caller may change it and pass it to resize().
  std::span<Shape> input_shapes();
  // Allocates memory for these shapes of all graph inputs, so that resize() up to them allocates nothing. The present
  // shapes are kept.
  Status reserve(std::span<const Shape> shapes);

  // Runs every operator in order. Allocates nothing, with three exceptions. If the GPU is lost, the run is repeated by
  // a new CPU backend, which also computes later runs. A state may outgrow its memory. On a GPU, a state's length may
  // change.
  // States are updated only if the run succeeds. FERRY_CANCELLED: cancel() was called. FERRY_STATE_FULL.
  // `static_inputs`: Unchanged if the caller wrote to no static input since the last run.
  Status run(StaticInputs static_inputs = StaticInputs::Changed);
  // Marks a run as begun, before another thread computes it: from now on cancel() applies to it.
  void begin();
  // Whether outputs hold a run's results at the present shapes.
  bool answered() const { return answered_; }
  // Stops the current run; does nothing without one. Any thread.
  void cancel();

  // While this object lives, a cancel() between two runs cancels the next one.
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

  // Replays the GPU's kernels at the present shapes (Backend::check_kernels()). The session then uses other kernels, or
  // the CPU, for those found wrong; if the GPU is lost, the session moves to the CPU. FERRY_GPU_UNAVAILABLE: it is on
  // the CPU. FERRY_UNSUPPORTED: inputs or outputs are bound to the app's buffers.
  Status check_kernels(const KernelCheck& request, KernelReport* out);
  // Replays all of them for some time, and changes nothing.
  Status audit(const AuditRequest& request, AuditReport* out) { return computing().audit(request, out); }

  // Whether a run was submitted to the backend (sdk/gpu/device/interop.h) and is not complete.
  bool submitted() const { return backend_->submitted(); }
  Status finish() {
    Status status = backend_->finish();
    if (status.ok()) count_outputs();
    answered_ = status.ok();
    return status;
  }

  // Present shape and address of an input, an output or a kept tap. For constants, the blob's read-only bytes.
  const Shape& shape(TensorId tensor) const { return shapes_[tensor]; }
  void* data(TensorId tensor) const { return backend_->data(tensor); }
  // Present shape of an output; after a run its exact shape, where sizes follow from values. May contain 0 then.
  const Shape& output_shape(size_t output) const {
    return answered_ && !exact_shapes_.empty()
               ? exact_shapes_[output]
               : shape(model_->graph().outputs()->Get(static_cast<unsigned>(output))->tensor());
  }

  // The tap of that name, if the session keeps it; otherwise FERRY_NOT_FOUND.
  Status tap(std::string_view name, const fbs::Port** port) const;

  uint64_t arena_bytes() const;

  // The session's threads; use them between its runs only.
  Pool* pool() const { return pool_.get(); }

  // The backend of the last run, or of the next if there was none: for its times and report.
  const Backend& computing() const { return fallback_ != nullptr ? *fallback_ : *backend_; }
  Backend& computing() { return fallback_ != nullptr ? *fallback_ : *backend_; }
  // Why a requested GPU is not used.
  const Status& gpu_status() const { return gpu_status_; }
  // The number of threads, as a sentence, if fewer than requested; "" otherwise.
  const std::string& threads_note() const { return threads_note_; }
  // Including the caller.
  size_t threads() const { return pool_->threads(); }
  // CPUs of its threads, "0-3,6"; "" if the session does not control them.
  const std::string& cpus() const { return cpus_; }
  // Moves the calling thread, one of the session's own, to the session's CPUs.
  void place_this_thread() const { pool_->place_this_thread(); }

 private:
  Session() = default;
  Status open_pool();
  Status choose_cpus(const CpuSet& allowed, CpuSet* cpus) const;
  Status choose_taps();
  Status make_backend(ferry_backend backend, std::unique_ptr<Backend>* out) const;
  // Creates a CPU backend with the present shapes and inputs.
  Status make_fallback(std::unique_ptr<Backend>* out) const;
  bool on_gpu() const { return computing().report().backend == FERRY_BACKEND_GPU; }
  Status open_states();
  // Infers maximum shapes of all tensors from maximum shapes of inputs, or if empty from the ports' bounds; empty if
  // there are none.
  Status infer_bounds(std::span<const Shape> inputs, Shapes* out);
  // Infers all shapes from the inputs' shapes in next_. `states`: shapes of the states.
  Status infer_next(std::span<const StateShape> states);
  Status follow_inputs();
  // Makes next_ the session's shapes: within the allocated memory, or with a new plan.
  Status adopt_next();
  Status reserve_states(const Shapes& shapes);
  // Updates shapes to the present lengths of the states.
  Status follow_states();
  void advance_states();
  Status prepare(const Shapes& shapes, const Shapes& bounds);
  Status compute(StaticInputs static_inputs);
  // After a run: determines exact_shapes_ and removes the padding between the elements of counted outputs.
  void count_outputs();
  void copy_inputs(const Backend& from, const Backend& to) const;
  void copy_results(const Backend& from, const Backend& to) const;
  void copy(TensorId tensor, const Backend& from, const Backend& to) const;

  std::shared_ptr<const Model> model_;  // declared first: it outlives the backends, which use its weights
  std::unique_ptr<MemoryBudget> budget_;
  SessionOptions options_;  // strings in it are read by create() only
  std::atomic<Progress> progress_{Progress::Idle};
  std::unique_ptr<Pool> pool_;
  std::string threads_note_, cpus_;
  std::vector<uint8_t> kept_taps_;    // by index in Graph.taps
  Shapes shapes_;                     // of every tensor
  Shapes next_;                       // shapes of a resize in progress
  Shapes bounds_;                     // maximum shapes to allocate for; empty: only shapes_
  std::vector<Shape> operands_;       // scratch: inputs of one operator
  std::vector<Shape> input_shapes_;   // see input_shapes()
  std::vector<Shape> exact_shapes_;   // of outputs in the last run; empty if no output has counts
  std::vector<StateShape> followed_;  // the states' shapes for which shapes_ was computed
  uint64_t followed_moves_ = 0;
  std::unique_ptr<Backend> backend_;
  // The CPU backend that replaces a lost GPU. backend_ keeps the memory known to the app until a resize.
  std::unique_ptr<Backend> fallback_;
  Status gpu_status_;
  bool answered_ = false;
  bool in_runs_ = false;        // see Runs
  bool resize_failed_ = false;  // the last resize failed: then a request for the present shape prepares it again
};

}  // namespace ferry
