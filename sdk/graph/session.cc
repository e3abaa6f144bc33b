#include "sdk/graph/session.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <new>

#include "sdk/graph/shape_rules.h"
#include "sdk/model/dtype.h"

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

int output_of(const fbs::Operator& op) { return op.outputs()->Get(0); }

bool is_view(const fbs::Operator& op) { return op.params_type() == fbs::OpParams::Reshape; }

// Inputs whose memory the output may take over: a tensor that is read twice must allow it at both places.
std::vector<int> reusable_inputs(const fbs::Operator& op) {
  std::vector<int> reusable;
  const auto& inputs = *op.inputs();
  for (unsigned i = 0; i < inputs.size(); ++i) {
    bool allowed = true;
    for (unsigned j = 0; j < inputs.size(); ++j) {
      if (inputs[j] == inputs[i]) allowed = allowed && cpu::may_run_in_place(op, static_cast<int>(j));
    }
    if (allowed) reusable.push_back(inputs[i]);
  }
  return reusable;
}

// The same failure, with the name of the operator it came from.
Status at_operator(const Status& status, const fbs::Operator& op) {
  return error(status.code(), "operator '%s': %s", op.name() != nullptr ? op.name()->c_str() : "",
               status.message().c_str());
}

}  // namespace

void Session::FreeArena::operator()(std::byte* arena) const { ::operator delete (arena, std::align_val_t{kAlignment}); }

Session::~Session() = default;

Status Session::create(std::shared_ptr<const Model> model, const SessionOptions& options,
                       std::unique_ptr<Session>* out) {
  FERRY_TRY(cpu::initialize());
  std::unique_ptr<Session> session(new (std::nothrow) Session);
  if (session == nullptr) return error(FERRY_OUT_OF_MEMORY, "out of memory while a session was made");
  session->model_ = std::move(model);
  session->memory_limit_ = options.memory_limit != 0 ? options.memory_limit : SessionOptions::kDefaultMemoryLimit;
  FERRY_TRY(session->open_pool(options));
  FERRY_TRY(session->choose_taps(options));

  const Model& m = *session->model_;
  const auto& operators = *m.graph().operators();
  for (const fbs::Operator* op : operators) {
    std::unique_ptr<cpu::Op> lowered;
    if (Status status = cpu::create_op(m, *op, &lowered); !status.ok()) return at_operator(status, *op);
    session->ops_.push_back(std::move(lowered));
  }
  if (options.profile) session->microseconds_.resize(operators.size());

  Layout layout;
  for (unsigned t = 0; t < m.graph().tensors()->size(); ++t) layout.shapes.push_back(m.shape(static_cast<int>(t)));
  bool ops_changed = false;
  FERRY_TRY(session->prepare(&layout, &ops_changed));
  session->layout_ = std::move(layout);
  for (const fbs::Port* input : *m.graph().inputs()) {
    const int tensor = static_cast<int>(input->tensor());
    const uint64_t bytes =
        static_cast<uint64_t>(session->shape(tensor).elements()) * dtype_size(m.tensor(tensor).dtype());
    std::memset(session->data(tensor), 0, bytes);
  }
  *out = std::move(session);
  return {};
}

Status Session::open_pool(const SessionOptions& options) {
  if (options.pool != nullptr) {
    pool_ = options.pool;
    return {};
  }
  if (options.num_threads < 0 || options.num_threads > kMaxThreads) {
    return error(FERRY_INVALID_ARGUMENT, "num_threads is %d: it must be between 0 (one a core) and %d",
                 options.num_threads, kMaxThreads);
  }
  const int threads = options.num_threads != 0 ? options.num_threads : core_count();
  if (threads == 1) return {};
  own_pool_.reset(pthreadpool_create(static_cast<size_t>(threads)));
  if (own_pool_ == nullptr) return error(FERRY_OUT_OF_MEMORY, "cannot start a pool of %d threads", threads);
  pool_ = own_pool_.get();
  return {};
}

Status Session::choose_taps(const SessionOptions& options) {
  const auto* taps = model_->graph().taps();
  const size_t count = taps != nullptr ? taps->size() : 0;
  kept_taps_.assign(count, options.all_taps);
  for (const char* wanted : options.taps) {
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

// From the shapes of graph inputs and constants to those of every operator's output.
Status Session::infer_shapes(Layout* layout) const {
  std::vector<Shape> inputs;
  for (const fbs::Operator* op : *model_->graph().operators()) {
    inputs.clear();
    for (int tensor : *op->inputs()) inputs.push_back(layout->shapes[static_cast<size_t>(tensor)]);
    Shape* output = &layout->shapes[static_cast<size_t>(output_of(*op))];
    if (Status status = infer_shape(*op, inputs, output); !status.ok()) return at_operator(status, *op);
  }
  return {};
}

Status Session::plan(const std::vector<uint64_t>& workspaces, Layout* layout) const {
  const fbs::Model& graph = model_->graph();
  PlanRequest request;
  for (size_t t = 0; t < layout->shapes.size(); ++t) {
    const int tensor = static_cast<int>(t);
    const uint64_t bytes =
        static_cast<uint64_t>(layout->shapes[t].elements()) * dtype_size(model_->tensor(tensor).dtype());
    request.bytes.push_back(model_->is_constant(tensor) ? 0 : bytes);
  }
  for (unsigned i = 0; i < graph.operators()->size(); ++i) {
    const fbs::Operator& op = *graph.operators()->Get(i);
    PlanRequest::Step step;
    step.inputs.assign(op.inputs()->begin(), op.inputs()->end());
    step.reusable = reusable_inputs(op);
    step.output = output_of(op);
    step.workspace = workspaces[i];
    step.view = is_view(op);
    request.steps.push_back(std::move(step));
  }
  for (const fbs::Port* port : *graph.inputs()) request.inputs.push_back(static_cast<int>(port->tensor()));
  for (const fbs::Port* port : *graph.outputs()) request.kept.push_back(static_cast<int>(port->tensor()));
  for (size_t i = 0; i < kept_taps_.size(); ++i) {
    const fbs::Port& tap = *graph.taps()->Get(static_cast<unsigned>(i));
    if (kept_taps_[i]) request.kept.push_back(static_cast<int>(tap.tensor()));
  }

  layout->plan = make_plan(request);
  if (layout->plan.arena_bytes > memory_limit_) {
    return error(FERRY_MEMORY_LIMIT, "activations need %" PRIu64 " bytes; the session's memory_limit is %" PRIu64,
                 layout->plan.arena_bytes, memory_limit_);
  }
  return {};
}

Status Session::reshape_ops(const std::vector<Shape>& shapes, std::vector<uint64_t>* workspaces) {
  std::vector<Shape> inputs;
  workspaces->assign(ops_.size(), 0);
  for (size_t i = 0; i < ops_.size(); ++i) {
    const fbs::Operator& op = *model_->graph().operators()->Get(static_cast<unsigned>(i));
    inputs.clear();
    for (int tensor : *op.inputs()) inputs.push_back(shapes[static_cast<size_t>(tensor)]);
    size_t workspace = 0;
    const Shape& output = shapes[static_cast<size_t>(output_of(op))];
    if (Status status = ops_[i]->reshape(inputs, output, pool_, &workspace); !status.ok()) {
      return at_operator(status, op);
    }
    (*workspaces)[i] = workspace;
  }
  return {};
}

void* Session::address(const Layout& layout, int tensor) const {
  if (model_->is_constant(tensor)) {
    return const_cast<std::byte*>(model_->constant(tensor).data());  // for reading: operators write activations only
  }
  const uint64_t offset = layout.plan.offsets[static_cast<size_t>(tensor)];
  return offset == kNoOffset ? nullptr : layout.arena.get() + offset;
}

void* Session::data(int tensor) const { return address(layout_, tensor); }

Status Session::setup_ops(const Layout& layout) {
  std::vector<const void*> inputs;
  for (size_t i = 0; i < ops_.size(); ++i) {
    const fbs::Operator& op = *model_->graph().operators()->Get(static_cast<unsigned>(i));
    inputs.clear();
    for (int tensor : *op.inputs()) inputs.push_back(address(layout, tensor));
    const uint64_t workspace = layout.plan.workspaces[i];
    void* scratch = workspace == kNoOffset ? nullptr : layout.arena.get() + workspace;
    if (Status status = ops_[i]->setup(inputs, address(layout, output_of(op)), scratch); !status.ok()) {
      return at_operator(status, op);
    }
  }
  return {};
}

Status Session::prepare(Layout* layout, bool* ops_changed) {
  FERRY_TRY(infer_shapes(layout));
  // Planned first without workspaces: absurd sizes end here, before operators allocate tables for them.
  std::vector<uint64_t> workspaces(ops_.size(), 0);
  FERRY_TRY(plan(workspaces, layout));
  *ops_changed = true;
  FERRY_TRY(reshape_ops(layout->shapes, &workspaces));
  FERRY_TRY(plan(workspaces, layout));
  const uint64_t bytes = std::max<uint64_t>(layout->plan.arena_bytes, kAlignment);
  layout->arena.reset(static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment}, std::nothrow)));
  if (layout->arena == nullptr) {
    return error(FERRY_OUT_OF_MEMORY, "cannot allocate %" PRIu64 " bytes for activations", bytes);
  }
  return setup_ops(*layout);
}

Status Session::resize(size_t input, const Shape& shape) {
  const auto& ports = *model_->graph().inputs();
  if (input >= ports.size()) {
    return error(FERRY_INVALID_ARGUMENT, "input %zu does not exist: the model has %zu", input,
                 static_cast<size_t>(ports.size()));
  }
  const fbs::Port& port = *ports.Get(static_cast<unsigned>(input));
  const size_t resized = port.tensor();
  const Shape& former = layout_.shapes[resized];
  if (shape == former && usable_) return {};
  bool fits = shape.rank == former.rank;
  int64_t elements = 1;
  for (int i = 0; fits && i < shape.rank; ++i) {
    fits = shape[i] >= 1 && elements <= (int64_t{1} << 40) / shape[i];
    elements *= fits ? shape[i] : 1;
  }
  if (!fits) {
    return error(FERRY_SHAPE_MISMATCH,
                 "input '%s' cannot have shape %s: it has %d dimensions of at least 1 and at most 2^40 elements",
                 port.name()->c_str(), to_string(shape).c_str(), former.rank);
  }

  Layout layout;
  layout.shapes = layout_.shapes;
  layout.shapes[resized] = shape;
  bool ops_changed = false;
  if (Status status = prepare(&layout, &ops_changed); !status.ok()) {
    std::vector<uint64_t> workspaces;
    if (ops_changed) usable_ = reshape_ops(layout_.shapes, &workspaces).ok() && setup_ops(layout_).ok();
    return error(status.code(), "input '%s' cannot have shape %s: %s", port.name()->c_str(), to_string(shape).c_str(),
                 status.message().c_str());
  }
  for (const fbs::Port* other : ports) {
    const int tensor = static_cast<int>(other->tensor());
    const uint64_t bytes =
        static_cast<uint64_t>(layout.shapes[other->tensor()].elements()) * dtype_size(model_->tensor(tensor).dtype());
    if (other->tensor() == resized) {
      std::memset(address(layout, tensor), 0, bytes);
    } else {
      std::memcpy(address(layout, tensor), data(tensor), bytes);
    }
  }
  layout_ = std::move(layout);
  usable_ = true;
  return {};
}

Status Session::run() {
  if (!usable_) {
    return error(FERRY_BACKEND_ERROR, "a failed resize left the session without a shape: resize it or close it");
  }
  // A cancel() before this line finds no run and does nothing; one after it is seen below, however the two race.
  progress_.store(Progress::Running);
  using Clock = std::chrono::steady_clock;
  const bool profile = !microseconds_.empty();
  std::fill(microseconds_.begin(), microseconds_.end(), 0.0);
  Status status;
  for (size_t i = 0; i < ops_.size() && status.ok(); ++i) {
    if (progress_.load(std::memory_order_relaxed) == Progress::Cancelled) break;
    const Clock::time_point start = profile ? Clock::now() : Clock::time_point();
    status = ops_[i]->run(pool_);
    if (profile) microseconds_[i] = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }
  const bool cancelled = progress_.exchange(Progress::Idle) == Progress::Cancelled;
  if (!status.ok()) return status;
  return cancelled ? Status(FERRY_CANCELLED, "run cancelled") : Status();  // short: no allocation
}

void Session::cancel() {
  Progress running = Progress::Running;
  progress_.compare_exchange_strong(running, Progress::Cancelled);
}

}  // namespace ferry
