#include "sdk/graph/session.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "sdk/cpu/engine.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type.h"
#if FERRY_GPU
#include "sdk/gpu/engine.h"
#endif

namespace ferry {
namespace {

constexpr int kMaxThreads = 256;

// Cores that this process may use: a container or taskset may allow fewer than the machine has.
int core_count() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::clamp(CPU_COUNT(&allowed), 1, kMaxThreads);
#endif
  return static_cast<int>(std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, static_cast<long>(kMaxThreads)));
}

// From the shapes of graph inputs and constants to those of every operator's outputs.
template <typename Rule>
Status infer(const Model& model, const Rule& rule, std::span<const StateShape> states, std::vector<Shape>* operands,
             std::vector<Shape>* shapes) {
  for (const fbs::Operator* op : *model.graph().operators()) {
    operands->clear();
    for (int tensor : *op->inputs()) operands->push_back((*shapes)[static_cast<size_t>(tensor)]);
    Shape outputs[kMaxOutputs];
    const unsigned count = op->outputs()->size();
    if (Status status = rule(*op, *operands, states, std::span(outputs, count)); !status.ok())
      return at_operator(status, *op);
    for (unsigned i = 0; i < count; ++i) (*shapes)[static_cast<size_t>(op->outputs()->Get(i))] = outputs[i];
  }
  return {};
}

// Is that the shape of an input with so many dimensions?
bool may_have(const Shape& shape, int rank) {
  int64_t elements = 1;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape[d] < 1 || elements > kMaxElements / shape[d]) return false;
    elements *= shape[d];
  }
  return shape.rank == rank;
}

bool names_state(const fbs::Operator& op) {
  return op.params_type() == fbs::OpParams::Append || op.params_type() == fbs::OpParams::Positions;
}

template <typename Predicate>
bool any_operator(const Model& model, const Predicate& predicate) {
  const auto& operators = *model.graph().operators();
  return std::any_of(operators.begin(), operators.end(), [&](const fbs::Operator* op) { return predicate(*op); });
}

}  // namespace

Status Session::create(std::shared_ptr<const Model> model, const SessionOptions& options,
                       std::unique_ptr<Session>* out) {
  std::unique_ptr<Session> session(new (std::nothrow) Session);
  if (session == nullptr) return error(FERRY_OUT_OF_MEMORY, "out of memory while a session was made");
  session->options_ = options;
  if (options.graph != nullptr) {
    size_t graph = 0;
    FERRY_TRY(model->find_graph(options.graph, &graph));
    FERRY_TRY(model->open_graph(graph, &session->model_));
  } else {
    session->model_ = std::move(model);
  }
  FERRY_TRY(session->open_pool());
  FERRY_TRY(session->choose_taps());
  FERRY_TRY(session->open_states());

  const Model& m = *session->model_;
  for (unsigned t = 0; t < m.graph().tensors()->size(); ++t) session->shapes_.push_back(m.shape(static_cast<int>(t)));
  FERRY_TRY(session->infer_bounds({}));
  session->next_ = session->shapes_;
  session->input_shapes();  // takes its memory
  {
    const StatesLock lock(session->states().get());
    FERRY_TRY(lock.status());
    FERRY_TRY(session->reserve_states(session->shapes_));
  }
  if (options.backend == FERRY_BACKEND_GPU) {
    session->gpu_status_ = session->states() != nullptr
                               ? error(FERRY_UNSUPPORTED, "the GPU backend keeps no states: the CPU runs this graph")
                               : session->make_engine(FERRY_BACKEND_GPU, &session->engine_);
    if (options.gpu_required) FERRY_TRY(session->gpu_status_);
  }
  if (session->engine_ == nullptr) FERRY_TRY(session->make_engine(FERRY_BACKEND_CPU, &session->engine_));
  session->options_.cache_dir = nullptr;  // the caller's, whose call this was
  *out = std::move(session);
  return {};
}

Status Session::open_pool() {
  if (options_.pool != nullptr) {
    pool_ = options_.pool;
    return {};
  }
  if (options_.num_threads < 0 || options_.num_threads > kMaxThreads) {
    return error(FERRY_INVALID_ARGUMENT, "num_threads is %d: it must be between 0 (one a core) and %d",
                 options_.num_threads, kMaxThreads);
  }
  const int threads = options_.num_threads != 0 ? options_.num_threads : core_count();
  if (threads == 1) return {};
  own_pool_.reset(pthreadpool_create(static_cast<size_t>(threads)));
  if (own_pool_ == nullptr) return error(FERRY_OUT_OF_MEMORY, "cannot start a pool of %d threads", threads);
  pool_ = own_pool_.get();
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

// The graph's states, where it names one: the caller's or the session's own.
Status Session::open_states() {
  const std::shared_ptr<States> given = std::move(options_.states);
  options_.states = nullptr;
  if (given != nullptr && !given->model().shares_blob(*model_))
    return error(FERRY_INVALID_ARGUMENT, "options.states are of another model");
  if (!any_operator(*model_, names_state)) return {};
  options_.states = given;
  if (given == nullptr) FERRY_TRY(States::create(model_, &options_.states));
  // Shapes are at first for empty states, as they are declared.
  followed_.assign(states()->shapes().begin(), states()->shapes().end());
  for (StateShape& state : followed_) state.length = 0;
  return {};
}

// The largest shapes: of the inputs as given, or else as the graph's ports say.
Status Session::infer_bounds(std::span<const Shape> inputs) {
  const auto& ports = *model_->graph().inputs();
  const bool bounded =
      std::any_of(ports.begin(), ports.end(), [](const fbs::Port* port) { return port->bound() != nullptr; });
  if (!bounded && inputs.empty() && states() == nullptr) return {};
  std::vector<Shape> bounds = shapes_;
  for (unsigned i = 0; i < ports.size(); ++i) {
    Shape& shape = bounds[ports.Get(i)->tensor()];
    if (!inputs.empty()) shape = inputs[i];
    const auto* bound = ports.Get(i)->bound();
    for (int d = 0; inputs.empty() && bound != nullptr && d < shape.rank; ++d)
      shape[d] = bound->Get(static_cast<unsigned>(d));
  }
  std::vector<StateShape> empty = followed_;
  for (StateShape& state : empty) state.length = 0;
  FERRY_TRY(infer(*model_, infer_largest_shapes, empty, &operands_, &bounds));
  bounds_ = std::move(bounds);
  return {};
}

Status Session::infer_next(std::span<const StateShape> states) {
  return infer(*model_, infer_shapes, states, &operands_, &next_);
}

Status Session::reserve_states(const std::vector<Shape>& shapes) {
  if (states() == nullptr) return {};
  uint64_t bytes = 0;
  for (const fbs::Operator* op : *model_->graph().operators()) {
    const fbs::Append* p = op->params_as_Append();
    if (p == nullptr) continue;
    const Shape& held = shapes[static_cast<size_t>(op->outputs()->Get(0))];
    bytes += bytes_of(states()->shapes()[p->state()].dtype, held.elements());
    if (bytes > options_.memory_limit)
      return error(FERRY_MEMORY_LIMIT, "states need %llu bytes and more; the session's memory_limit is %llu",
                   static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(options_.memory_limit));
    FERRY_TRY(states()->reserve(p->state(), held[states()->shapes()[p->state()].axis]));
  }
  return {};
}

Status Session::adopt_next() {
  FERRY_TRY(reserve_states(next_));
  bool fits = false;
  if (stand_in_ == nullptr && !bounds_.empty()) FERRY_TRY(engine_->reshape(next_, &fits));
  if (!fits) FERRY_TRY(prepare(next_));
  shapes_.swap(next_);
  return {};
}

Status Session::follow_states() {
  if (states() == nullptr) return {};
  const std::span<const StateShape> held = states()->shapes();
  const auto same = [](const StateShape& a, const StateShape& b) { return a.length == b.length; };
  if (followed_moves_ == states()->moves() && std::equal(held.begin(), held.end(), followed_.begin(), same)) return {};
  next_ = shapes_;
  FERRY_TRY(infer_next(held));
  FERRY_TRY(adopt_next());
  std::copy(held.begin(), held.end(), followed_.begin());
  followed_moves_ = states()->moves();
  return {};
}

void Session::advance_states() {
  if (states() == nullptr) return;
  for (const fbs::Operator* op : *model_->graph().operators()) {
    const fbs::Append* p = op->params_as_Append();
    if (p == nullptr) continue;
    const int axis = states()->shapes()[p->state()].axis;
    states()->set_length(p->state(), shape(op->outputs()->Get(0))[axis]);
  }
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
  return engine_->arena_bytes() + (stand_in_ != nullptr ? stand_in_->arena_bytes() : 0);
}

Status Session::make_engine(ferry_backend backend, std::unique_ptr<Engine>* out) const {
  std::unique_ptr<Engine> engine;
  if (backend == FERRY_BACKEND_CPU) {
    FERRY_TRY(cpu::create_engine(*model_, options_, kept_taps_, pool_, &engine));
  } else {
#if FERRY_GPU
    FERRY_TRY(gpu::create_engine(*model_, options_, kept_taps_, pool_, &engine));
#else
    return error(FERRY_GPU_UNAVAILABLE, "this build has no GPU backend (FERRY_GPU=OFF)");
#endif
  }
  FERRY_TRY(engine->prepare(shapes_, bounds_));
  *out = std::move(engine);
  return {};
}

Status Session::make_stand_in(std::unique_ptr<Engine>* out) const {
  FERRY_TRY(make_engine(FERRY_BACKEND_CPU, out));
  copy_inputs(*engine_, **out);
  return {};
}

void Session::copy(int tensor, const Engine& from, const Engine& to) const {
  if (model_->is_constant(tensor)) return;
  const uint64_t bytes = bytes_of(model_->tensor(tensor).dtype(), shape(tensor).elements());
  std::memcpy(to.data(tensor), from.data(tensor), bytes);
}

void Session::copy_inputs(const Engine& from, const Engine& to) const {
  for (const fbs::Port* port : *model_->graph().inputs()) copy(static_cast<int>(port->tensor()), from, to);
}

void Session::copy_results(const Engine& from, const Engine& to) const {
  for (const fbs::Port* port : *model_->graph().outputs()) copy(static_cast<int>(port->tensor()), from, to);
  for (size_t i = 0; i < kept_taps_.size(); ++i) {
    const fbs::Port& tap = *model_->graph().taps()->Get(static_cast<unsigned>(i));
    if (kept_taps_[i]) copy(static_cast<int>(tap.tensor()), from, to);
  }
}

Status Session::prepare(const std::vector<Shape>& shapes) {
  if (stand_in_ != nullptr) {
    copy_inputs(*engine_, *stand_in_);
    FERRY_TRY(stand_in_->prepare(shapes, bounds_));
    engine_ = std::move(stand_in_);
    return {};
  }
  const bool gpu = on_gpu();
  Status status = engine_->prepare(shapes, bounds_);
  if (status.ok() || !gpu || options_.gpu_required) return status;
  std::unique_ptr<Engine> cpu;
  FERRY_TRY(make_stand_in(&cpu));
  FERRY_TRY(cpu->prepare(shapes, bounds_));
  engine_ = std::move(cpu);
  gpu_status_ = std::move(status);
  return {};
}

Status Session::resize(size_t input, const Shape& shape) {
  const auto& ports = *model_->graph().inputs();
  if (input >= ports.size()) {
    return error(FERRY_INVALID_ARGUMENT, "input %zu does not exist: the model has %zu", input,
                 static_cast<size_t>(ports.size()));
  }
  const std::span<Shape> wanted = input_shapes();
  wanted[input] = shape;
  return resize(wanted);
}

std::span<Shape> Session::input_shapes() {
  input_shapes_.clear();
  for (const fbs::Port* port : *model_->graph().inputs()) input_shapes_.push_back(shapes_[port->tensor()]);
  return input_shapes_;
}

Status Session::resize(std::span<const Shape> wanted) {
  const auto& ports = *model_->graph().inputs();
  next_ = shapes_;
  bool changed = false, fits = true;
  for (unsigned i = 0; i < ports.size(); ++i) {
    Shape& next = next_[ports.Get(i)->tensor()];
    if (wanted[i] == next) continue;
    changed = true;
    fits = fits && may_have(wanted[i], next.rank);
    next = wanted[i];
  }
  if (!changed && !resize_failed_) return {};
  Status status = fits ? follow_inputs() : Status(FERRY_SHAPE_MISMATCH, "");
  if (status.ok()) return {};
  // Sentences are made only here: within the bounds, nothing is allocated.
  std::string refused;
  for (unsigned i = 0; i < ports.size(); ++i) {
    const fbs::Port& port = *ports.Get(i);
    const Shape& former = shapes_[port.tensor()];
    if (wanted[i] == former) continue;
    refused += (refused.empty() ? "input '" : ", nor '") + port.name()->str() +
               (refused.empty() ? "' cannot have shape " : "' ") + to_string(wanted[i]);
    if (fits || may_have(wanted[i], former.rank)) continue;
    return error(FERRY_SHAPE_MISMATCH, "%s: it has %d dimensions of at least 1 and at most 2^40 elements",
                 refused.c_str(), former.rank);
  }
  return error(status.code(), "%s: %s", refused.empty() ? "the present shapes" : refused.c_str(),
               status.message().c_str());
}

// From the inputs' shapes in next_ to the session's.
Status Session::follow_inputs() {
  const StatesLock lock(states().get());
  FERRY_TRY(lock.status());
  Status status = infer_next(states() != nullptr ? states()->shapes() : std::span<const StateShape>());
  const bool full = status.code() == FERRY_STATE_FULL;
  if (full) {  // the next run says so, unless the states are shortened before
    for (StateShape& state : followed_) state.length = 0;
    status = infer_next(followed_);
  }
  FERRY_TRY(status);
  status = adopt_next();
  resize_failed_ = !status.ok();
  FERRY_TRY(status);
  if (states() != nullptr && !full) std::copy(states()->shapes().begin(), states()->shapes().end(), followed_.begin());
  followed_moves_ = states() != nullptr ? states()->moves() : 0;
  return {};
}

Status Session::reserve(std::span<const Shape> inputs) {
  const StatesLock lock(states().get());
  FERRY_TRY(lock.status());
  const auto& ports = *model_->graph().inputs();
  for (unsigned i = 0; i < ports.size(); ++i) {
    const int rank = shapes_[ports.Get(i)->tensor()].rank;
    if (!may_have(inputs[i], rank))
      return error(FERRY_SHAPE_MISMATCH, "input '%s' cannot have shape %s: it has %d dimensions of at least 1",
                   ports.Get(i)->name()->c_str(), to_string(inputs[i]).c_str(), rank);
  }
  std::vector<Shape> former = bounds_;
  FERRY_TRY(infer_bounds(inputs));
  Status status = prepare(shapes_);
  if (!status.ok()) bounds_ = std::move(former);
  return status;
}

Status Session::compute() {
  if (stand_in_ == nullptr) {
    Status status = engine_->run(progress_);
    // Inputs that an operator refuses, an index that is outside, are no fault of the GPU's.
    const bool refused = status.code() == FERRY_INVALID_ARGUMENT;
    if (status.ok() || refused || status.code() == FERRY_CANCELLED || !on_gpu() || engine_->bound()) return status;
    FERRY_TRY(make_stand_in(&stand_in_));
    gpu_status_ = std::move(status);
  } else {
    copy_inputs(*engine_, *stand_in_);
  }
  FERRY_TRY(stand_in_->run(progress_));
  copy_results(*stand_in_, *engine_);
  return {};
}

Status Session::run() {
  // A cancel() before this line finds no run and does nothing; one after it is seen below, however the two race.
  progress_.store(Progress::Running);
  const StatesLock lock(states().get());
  Status status = lock.status();
  if (status.ok()) status = follow_states();
  if (status.ok()) status = compute();
  const bool cancelled = progress_.exchange(Progress::Idle) == Progress::Cancelled;
  if (!status.ok()) return status;
  if (cancelled) return Status(FERRY_CANCELLED, "run cancelled");  // short: no allocation
  advance_states();
  return {};
}

void Session::cancel() {
  Progress running = Progress::Running;
  progress_.compare_exchange_strong(running, Progress::Cancelled);
}

}  // namespace ferry
