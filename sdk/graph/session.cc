#include "sdk/graph/session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>

#include "sdk/cpu/backend/backend.h"
#include "sdk/graph/audit.h"
#include "sdk/model/packed_store.h"
#include "sdk/model/weight_check.h"
#include "sdk/operators/built_in.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type.h"
#if FERRY_GPU
#include "sdk/gpu/backend/backend.h"
#endif

namespace ferry {
namespace {

constexpr int kMaxThreads = 256;

// Ends a run on every path: a later cancel() finds no run, unless it belongs to a series of runs.
class RunEnd {
 public:
  RunEnd(std::atomic<Progress>& progress, bool last) : progress_(progress), last_(last) {}
  ~RunEnd() {
    if (last_) progress_.store(Progress::Idle);
  }

 private:
  std::atomic<Progress>& progress_;
  bool last_;
};

// Packed weights of most networks are about as large as the blob.
uint64_t default_limit(const Model& model) {
  uint64_t constants = 0;
  for (const fbs::Buffer* buffer : *model.root().buffers())
    constants = std::max(constants, buffer->offset() + buffer->size());
  return std::max(uint64_t{4} << 30, 2 * constants);
}

// Drops packed weights if the session cannot be created: memory is freed, and another attempt cannot exceed the limit.
struct DropPacked {
  ~DropPacked() {
    if (store != nullptr) store->drop_unused();
  }
  PackedStore* store;
};

bool any_names_state(const Model& model) {
  const auto& operators = *model.graph().operators();
  return std::any_of(operators.begin(), operators.end(),
                     [](const fbs::Operator* op) { return names_state(op->params_type()); });
}

}  // namespace

Status Session::create(std::shared_ptr<const Model> model, const SessionOptions& options,
                       std::unique_ptr<Session>* out) {
  std::unique_ptr<Session> session(new Session);
  session->options_ = options;
  if (options.graph != nullptr) {
    size_t graph = 0;
    FERRY_TRY(model->find_graph(options.graph, &graph));
    FERRY_TRY(model->open_graph(graph, &session->model_));
  } else {
    session->model_ = std::move(model);
  }
  const uint64_t limit = options.memory_limit != 0 ? options.memory_limit : default_limit(*session->model_);
  session->budget_ = std::make_unique<MemoryBudget>(limit);
  session->options_.budget = session->budget_.get();
  FERRY_TRY(session->open_pool());
  FERRY_TRY(session->choose_taps());
  FERRY_TRY(session->open_states());

  const Model& m = *session->model_;
  for (const TensorId t : m.tensors()) session->shapes_.push_back(m.shape(t));
  FERRY_TRY(session->infer_bounds({}, &session->bounds_));
  session->next_ = session->shapes_;
  session->input_shapes();  // allocates its memory
  if (m.output_count() < m.graph().outputs()->size()) session->exact_shapes_.resize(m.graph().outputs()->size());
  {
    const StatesLock lock(session->states().get());
    FERRY_TRY(lock.status());
    FERRY_TRY(session->reserve_states(session->shapes_));
  }
  if (options.backend == FERRY_BACKEND_GPU) {
    session->gpu_status_ = session->make_backend(FERRY_BACKEND_GPU, &session->backend_);
    if (options.gpu_required) FERRY_TRY(session->gpu_status_);
  }
  if (session->backend_ == nullptr) FERRY_TRY(session->make_backend(FERRY_BACKEND_CPU, &session->backend_));
  if (!options.skip_weight_check) {
    m.weight_check().begin(options.cache_dir);  // after packing, which reads the same bytes
    FERRY_TRY(m.weight_check().status());
  }
  session->options_.cache_dir = nullptr;  // the caller's string, valid during this call only
  *out = std::move(session);
  return {};
}

Status Session::open_pool() {
  if (options_.pool != nullptr) {
    pool_ = Pool::lend(options_.pool, &progress_);
    return {};
  }
  if (options_.num_threads < 0 || options_.num_threads > kMaxThreads) {
    return error(FERRY_INVALID_ARGUMENT, "num_threads is %d: it must be between 0 (one a core) and %d",
                 options_.num_threads, kMaxThreads);
  }
  const CpuSet allowed = allowed_cpus();
  CpuSet cpus;
  FERRY_TRY(choose_cpus(allowed, &cpus));
  const size_t cores = cpus.any() ? cpus.count() : static_cast<size_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  const size_t threads =
      options_.num_threads != 0 ? static_cast<size_t>(options_.num_threads) : std::min<size_t>(cores, kMaxThreads);
  cpus_ = cpu_list(cpus);
  pool_ = Pool::create(threads, &progress_, cpus != allowed ? cpus : CpuSet());
  if (pool_->missing() > 0) {
    char note[160];
    std::snprintf(note, sizeof note, "%zu of %zu threads run: the system starts no more (%s)", pool_->threads(),
                  threads, std::strerror(pool_->reason()));
    threads_note_ = note;
  }
  return {};
}

Status Session::choose_cpus(const CpuSet& allowed, CpuSet* cpus) const {
  if (options_.cpus.has_value()) {
    *cpus = *options_.cpus & allowed;
    if (cpus->any() || allowed.none()) return {};
    return error(FERRY_INVALID_ARGUMENT, "options.cpu_mask holds no CPU that may be used: it has '%s', there are %s",
                 cpu_list(*options_.cpus).c_str(), cpu_list(allowed).c_str());
  }
  *cpus = ferry::choose_cpus(options_.cores, allowed, kCpuFolder);
  // More threads than big cores would compete for them.
  const auto threads = static_cast<size_t>(options_.num_threads);
  if (options_.cores == FERRY_CORES_PERFORMANCE && threads > cpus->count()) *cpus = allowed;
  return {};
}

Status Session::choose_taps() {
  const auto* taps = model_->graph().taps();
  const size_t count = taps != nullptr ? taps->size() : 0;
  kept_taps_.assign(count, options_.all_taps);
  for (const char* wanted : options_.taps) {
    bool found = false;
    for (size_t i = 0; i < count; ++i) {
      if (std::string_view(taps->Get(static_cast<unsigned>(i))->name()->c_str()) != wanted) continue;
      kept_taps_[i] = true;
      found = true;
    }
    if (!found) {
      return error(FERRY_NOT_FOUND, "the model has no tap '%s'; it has %zu%s%s", wanted, count,
                   count > 0 ? ", the first is " : "", count > 0 ? taps->Get(0)->name()->c_str() : "");
    }
  }
  return {};
}

// Opens the graph's states, if it has any: the caller's or new ones.
Status Session::open_states() {
  const std::shared_ptr<States> given = std::move(options_.states);
  options_.states = nullptr;
  if (given != nullptr && !given->model().shares_blob(*model_))
    return error(FERRY_INVALID_ARGUMENT, "options.states are of another model");
  if (!states_built_in() || !any_names_state(*model_)) return {};
  options_.states = given;
  if (given == nullptr) FERRY_TRY(States::create(model_, options_.state_dtype, &options_.states));
  // Declared shapes are those of empty states.
  followed_.assign(states()->shapes().begin(), states()->shapes().end());
  for (StateShape& state : followed_) state.length = state.first = 0;
  return {};
}

Status Session::tap(std::string_view name, const fbs::Port** port) const {
  for (size_t i = 0; i < kept_taps_.size(); ++i) {
    const fbs::Port& tap = *model_->graph().taps()->Get(static_cast<unsigned>(i));
    if (std::string_view(tap.name()->c_str()) != name) continue;
    if (!kept_taps_[i]) {
      return error(FERRY_NOT_FOUND, "tap '%s' is not kept: name it in the session's options", tap.name()->c_str());
    }
    *port = &tap;
    return {};
  }
  return error(FERRY_NOT_FOUND, "the model has no tap '%.*s'; it has %zu", static_cast<int>(name.size()), name.data(),
               kept_taps_.size());
}

uint64_t Session::arena_bytes() const {
  return backend_->arena_bytes() + (fallback_ != nullptr ? fallback_->arena_bytes() : 0);
}

Status Session::make_backend(ferry_backend backend, std::unique_ptr<Backend>* out) const {
  const MemoryBudget::Scope scope(budget_.get());
  if (backend_ == nullptr)
    budget_->set(MemoryBudget::Part::Weights, 0);  // packed by a backend that could not be
                                                   // created
  DropPacked failed{&model_->packed()};
  std::unique_ptr<Backend> made;
  if (backend == FERRY_BACKEND_CPU) {
    FERRY_TRY(cpu::create_backend(*model_, options_, kept_taps_, pool_.get(), &made));
  } else {
#if FERRY_GPU
    FERRY_TRY(gpu::create_backend(*model_, options_, kept_taps_, pool_.get(), &made));
#else
    return error(FERRY_GPU_UNAVAILABLE, "this build has no GPU backend (FERRY_GPU=OFF)");
#endif
  }
  FERRY_TRY(made->prepare(shapes_, bounds_));
  failed.store = nullptr;
  *out = std::move(made);
  return {};
}

Status Session::make_fallback(std::unique_ptr<Backend>* out) const {
  FERRY_TRY(make_backend(FERRY_BACKEND_CPU, out));
  copy_inputs(*backend_, **out);
  return {};
}

void Session::copy(TensorId tensor, const Backend& from, const Backend& to) const {
  if (model_->is_constant(tensor)) return;
  const uint64_t bytes = bytes_of(model_->tensor(tensor).dtype(), shape(tensor).elements());
  if (to.data(tensor) != from.data(tensor))
    std::memcpy(to.data(tensor), from.data(tensor), bytes);  // a state's memory
                                                             // is shared
}

void Session::copy_inputs(const Backend& from, const Backend& to) const {
  for (const fbs::Port* port : *model_->graph().inputs()) copy(port->tensor(), from, to);
}

void Session::copy_results(const Backend& from, const Backend& to) const {
  for (const fbs::Port* port : *model_->graph().outputs()) copy(port->tensor(), from, to);
  for (size_t i = 0; i < kept_taps_.size(); ++i) {
    const fbs::Port& tap = *model_->graph().taps()->Get(static_cast<unsigned>(i));
    if (kept_taps_[i]) copy(tap.tensor(), from, to);
  }
}

Status Session::prepare(const Shapes& shapes, const Shapes& bounds) {
  const MemoryBudget::Scope scope(budget_.get());
  if (fallback_ != nullptr) {
    copy_inputs(*backend_, *fallback_);
    FERRY_TRY(fallback_->prepare(shapes, bounds));
    backend_ = std::move(fallback_);
    return {};
  }
  const bool gpu = on_gpu();
  Status status = backend_->prepare(shapes, bounds);
  if (status.ok() || !gpu || options_.gpu_required) return status;
  std::unique_ptr<Backend> cpu;
  FERRY_TRY(make_fallback(&cpu));
  FERRY_TRY(cpu->prepare(shapes, bounds));
  backend_ = std::move(cpu);
  gpu_status_ = std::move(status);
  return {};
}

Status Session::compute(StaticInputs static_inputs) {
  if (fallback_ == nullptr) {
    Status status = backend_->run(progress_, static_inputs);
    // An index out of range is the caller's error, not a failure of the GPU.
    const bool refused = status.code() == FERRY_INVALID_ARGUMENT;
    if (status.ok() || refused || status.code() == FERRY_CANCELLED || !on_gpu() || backend_->bound()) return status;
    FERRY_TRY(make_fallback(&fallback_));
    gpu_status_ = std::move(status);
  } else {
    copy_inputs(*backend_, *fallback_);
  }
  FERRY_TRY(fallback_->run(progress_, StaticInputs::Changed));
  copy_results(*fallback_, *backend_);
  return {};
}

Status Session::run(StaticInputs static_inputs) {
  answered_ = false;
  begin();
  const RunEnd end(progress_, !in_runs_);
  const WeightCheck::DuringRun during(model_->weight_check());
  const StatesLock lock(states().get());
  Status status = lock.status();
  if (status.ok()) status = follow_states();
  if (status.ok()) status = compute(static_inputs);
  if (status.ok()) status = model_->weight_check().status();
  if (!status.ok()) return status;
  const Progress progress = in_runs_ ? progress_.load() : progress_.exchange(Progress::Idle);
  if (progress == Progress::Cancelled) return Status(kCancelled);
  advance_states();
  if (!submitted()) count_outputs();
  answered_ = true;
  return {};
}

Status Session::check_kernels(const KernelCheck& request, KernelReport* out) {
  if (!kHasGpuChecks) return error(FERRY_UNSUPPORTED, "%s", kNoGpuChecks);
  const StatesLock lock(states().get());
  FERRY_TRY(lock.status());
  if (!on_gpu()) return Status(kNoGpu);
  const auto start = std::chrono::steady_clock::now();
  KernelCheck rest = request;
  KernelReport sum;
  while (on_gpu()) {
    if (backend_->bound())
      return error(FERRY_UNSUPPORTED, "inputs or outputs are bound to the app's buffers: check kernels before that");
    KernelReport part;
    Status status = backend_->check_kernels(rest, &part);
    if (status.code() == FERRY_GPU_LOST) {
      FERRY_TRY(make_fallback(&fallback_));
      gpu_status_ = std::move(status);
      break;
    }
    FERRY_TRY(status);
    sum = {part.kernels, part.checked, sum.failures + part.failures, sum.replays + part.replays};
    if (part.failures == 0) break;
    FERRY_TRY(prepare(shapes_, bounds_));  // with other kernels, which need verdicts, too
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (request.seconds > 0) rest.seconds = std::max(request.seconds - passed.count(), 1e-3);
  }
  *out = sum;
  return {};
}

// A cancel() before this finds no run and does nothing; a later one is seen by run(), in any interleaving.
void Session::begin() {
  Progress none = Progress::Idle;
  progress_.compare_exchange_strong(none, Progress::Running);
}

void Session::cancel() {
  Progress running = Progress::Running;
  progress_.compare_exchange_strong(running, Progress::Cancelled);
}

}  // namespace ferry
