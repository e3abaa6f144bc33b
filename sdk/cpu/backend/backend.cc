#include "sdk/cpu/backend/backend.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "sdk/cpu/backend/bands.h"
#include "sdk/cpu/backend/fingerprint.h"
#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/steps.h"
#include "sdk/cpu/elementwise/fused_add.h"
#include "sdk/graph/plan.h"
#include "sdk/graph/schedule.h"
#include "sdk/graph/states.h"
#include "sdk/model/memory_budget.h"
#include "sdk/model/packed_files.h"
#include "sdk/operators/built_in.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type.h"

namespace ferry::cpu {
namespace {

constexpr bool kHasFloat16 = built_in(Feature::Float16);

// Inputs whose memory the output may reuse. A value that is read twice must be reusable at both inputs.
std::vector<TensorId> reusable_inputs(fbs::OpParams type, const std::vector<TensorId>& inputs) {
  std::vector<TensorId> reusable;
  for (unsigned i = 0; i < inputs.size(); ++i) {
    bool allowed = true;
    for (unsigned j = 0; j < inputs.size(); ++j) {
      if (inputs[j] == inputs[i]) allowed = allowed && may_run_in_place(type, j);
    }
    if (allowed) reusable.push_back(inputs[i]);
  }
  return reusable;
}

struct FreeArena {
  void operator()(std::byte* arena) const { std::free(arena); }
};
using Arena = std::unique_ptr<std::byte, FreeArena>;

// Returns null if there is no memory. Uses huge pages where the system has them, since the first run faults in every
// page and small pages multiply that cost.
Arena allocate_arena(uint64_t bytes) {
  constexpr size_t kHugePage = 2 << 20;
  const size_t alignment = bytes < kHugePage ? kAlignment : kHugePage;
  void* memory = nullptr;
  if (bytes > SIZE_MAX || posix_memalign(&memory, alignment, static_cast<size_t>(bytes)) != 0) return nullptr;
#if defined(__linux__)
  if (alignment == kHugePage) (void)madvise(memory, static_cast<size_t>(bytes) / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  return Arena(static_cast<std::byte*>(memory));
}

// Faults in all pages now, where the system can (Linux 5.14), instead of one by one in the first run. Large arenas use
// huge pages; they may belong to a malformed model that must not run.
void populate([[maybe_unused]] std::byte* arena, [[maybe_unused]] size_t bytes) {
#if defined(MADV_POPULATE_WRITE)
  constexpr size_t kLarge = 64 << 20;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t before = (page - reinterpret_cast<uintptr_t>(arena) % page) % page;
  if (bytes > before && bytes < kLarge)
    (void)madvise(arena + before, (bytes - before) / page * page, MADV_POPULATE_WRITE);
#endif
}

// Everything that depends on the shapes.
struct MemoryLayout {
  Shapes shapes;                     // of every tensor
  PerTensor<uint64_t> room;          // bytes allocated for each value
  std::vector<uint64_t> workspaces;  // bytes of scratch memory of each step
  Plan plan;
  Arena arena;
};

class CpuBackend : public Backend {
 public:
  CpuBackend(const Model& model, const SessionOptions& options, Pool* pool)
      : model_(model), budget_(options.budget), pool_(pool), states_(options.states.get()) {}

  Status create(const SessionOptions& options, const std::vector<uint8_t>& kept_taps);
  void add_notes(const std::vector<std::string>& notes) {
    report_.notes.insert(report_.notes.end(), notes.begin(), notes.end());
  }

  Status prepare(const Shapes& shapes, const Shapes& bounds) override;
  Status reshape(const Shapes& shapes, bool* fits) override;
  Status run(const std::atomic<Progress>& progress, StaticInputs static_inputs) override;
  void* data(TensorId tensor) const override { return address(layout_, tensor); }
  uint64_t arena_bytes() const override { return layout_.plan.arena_bytes; }
  uint64_t packed_bytes() const override { return model_.packed().bytes(); }
  std::span<const double> microseconds() const override { return microseconds_; }
  const char* backend_of(size_t) const override { return "cpu"; }
  const BackendReport& report() const override { return report_; }

 private:
  const fbs::Operator& graph_op(unsigned i) const { return *model_.graph().operators()->Get(i); }
  const fbs::Operator& op(size_t i) const { return graph_op(steps_.list[i].op); }  // of step i
  TensorId tensor_of(TensorId value) const { return steps_.tensor[value]; }
  uint64_t bytes(const Shapes& shapes, TensorId value) const;
  void* address(const MemoryLayout& layout, TensorId value) const;
  bool static_only(size_t i) const { return (flags_[i] & Schedule::kStaticOnly) != 0; }
  bool in_arena(TensorId value) const {
    return !model_.is_constant(tensor_of(value)) && !steps_.inner[value] &&
           (value != tensor_of(value) || state_of_[value] < 0);
  }
  Status lower_all();
  Status lower(unsigned index, const PerTensor<int>& readers, Float16Choice* choice);
  void report_precision();
  Status plan(MemoryLayout* layout) const;
  Status reshape_op(size_t i, const Shapes& shapes, uint64_t* workspace);
  // Reshapes all operators and records the maximum workspace of each so far.
  Status reshape_ops(const Shapes& shapes, std::vector<uint64_t>* workspaces);
  Status setup_op(size_t i, const MemoryLayout& layout);
  Status setup_ops(const MemoryLayout& layout);
  // Plans the memory for `layout->shapes` and the bounds. After a failure, the operators may match no layout.
  Status lay_out(const Shapes& bounds, MemoryLayout* layout);
  bool has_room(const Shapes& shapes) const;
  // The step before the one that follows step `i`, which has run: itself unless it begins or ends a loop.
  size_t step_before_next(size_t i) const {
    const Op::Flow flow = steps_.list[i].kernel->flow();
    if (flow == Op::Flow::Next) return i;
    const bool repeats = flow == Op::Flow::Repeat;
    for (const Loop& loop : steps_.loops)
      if ((repeats ? loop.end : loop.begin) == i) return repeats ? loop.begin : loop.end - 1;
    return i;
  }
  bool changed(size_t i, const Shapes& shapes) const;
  void set_states();
  // Returns to layout_ after the operators were changed for another layout. This may allocate operator tables; if there
  // is no memory, the next run tries again.
  Status restore();

  const Model& model_;
  const CpuFeatures cpu_ = cpu_features();
  MemoryBudget* budget_;
  Pool* pool_;
  States* states_;               // null if no operator names a state
  PerTensor<int> state_of_;      // by tensor: the state whose memory it uses, or -1
  uint64_t moves_ = 0;           // of the states when addresses were last set up
  std::vector<Shape> operands_;  // shapes of the current operator's inputs
  std::vector<const void*> sources_;
  std::vector<void*> results_;
  std::vector<TensorId> kept_;  // outputs and kept taps
  bool float16_ = false;        // operators that can compute in float16 do
  Steps steps_;
  Schedule schedule_;
  std::vector<uint8_t> flags_;  // the schedule's flags of each step
  bool static_known_ = false;   // values that depend on static inputs alone are cached
  MemoryLayout layout_;
  bool usable_ = false;  // the operators match layout_
  std::vector<double> microseconds_;
  BackendReport report_;
};

Status CpuBackend::create(const SessionOptions& options, const std::vector<uint8_t>& kept_taps) {
  const fbs::Graph& graph = model_.graph();
  for (const fbs::Port* port : *graph.outputs()) kept_.push_back(port->tensor());
  for (size_t i = 0; i < kept_taps.size(); ++i) {
    if (kept_taps[i]) kept_.push_back(graph.taps()->Get(static_cast<unsigned>(i))->tensor());
  }
  state_of_.assign(graph.tensors()->size(), -1);
  for (const fbs::Operator* op : *graph.operators())
    if (const fbs::Append* p = op->params_as_Append()) state_of_[output_of(*op)] = static_cast<int>(p->state());
  const bool wants_float16 = options.precision == FERRY_PRECISION_FLOAT16;
  float16_ = kHasFloat16 && wants_float16 && cpu_.float16;
  FERRY_TRY(lower_all());
  for (const Step& step : steps_.list) {
    flags_.push_back(step.of_input ? Schedule::kNeeded : schedule_.operators[step.op]);
    // What only a tap that is not kept needs has no memory.
    if ((flags_.back() & Schedule::kNeeded) == 0)
      for (const TensorId value : step.outputs) steps_.inner[value] = 1;
  }
  const size_t count = graph.operators()->size();
  if (options.profile) microseconds_.resize(count);
  report_.cpu_operators = count;
  if (wants_float16) report_precision();
  return {};
}

void CpuBackend::report_precision() {
#define FERRY_FLOAT32_SINCE(reason) report_.notes.push_back("float32 instead of float16: " reason)
  if constexpr (!kHasFloat16) {
    FERRY_FLOAT32_SINCE("this library was built without float16 arithmetic");
  } else if (!cpu_.float16) {
    FERRY_FLOAT32_SINCE("this CPU has no float16 arithmetic");
  } else if (std::none_of(steps_.list.begin(), steps_.list.end(),
                          [](const Step& step) { return step.float16 && !step.converts; })) {
    FERRY_FLOAT32_SINCE("no operator of this network computes in float16 on the CPU");
  } else {
    report_.precision = FERRY_PRECISION_FLOAT16;
  }
#undef FERRY_FLOAT32_SINCE
}

Status CpuBackend::lower_all() {
  const fbs::Graph& graph = model_.graph();
  const size_t count = graph.operators()->size();
  PerTensor<int> readers(graph.tensors()->size());  // of each tensor, the application included
  for (const fbs::Operator* op : *graph.operators()) {
    for (const TensorId tensor : *op->inputs()) ++readers[tensor];
  }
  for (const TensorId tensor : kept_) ++readers[tensor];
  schedule_ = make_schedule(model_, kept_);
  Float16Choice choice(model_);
  steps_.list.resize(count);
  for (unsigned i = 0; i < count; ++i) {
    if (Status status = lower(i, readers, &choice); !status.ok()) return at_operator(status, graph_op(i));
  }
  PerTensor<uint8_t> floats(graph.tensors()->size());  // held by the caller or a state
  for (const fbs::Port* port : *graph.inputs()) floats[port->tensor()] = 1;
  for (const TensorId tensor : kept_) floats[tensor] = 1;
  for (const TensorId tensor : model_.tensors())
    if (state_of_[tensor] >= 0) floats[tensor] = 1;
  std::vector<Step> lowered = std::move(steps_.list);
  steps_ = make_steps(model_, choice.in_float16(), floats);
  for (Step& step : steps_.list) {
    if (!step.converts) step.view = lowered[step.op].view;
    step.kernel = step.converts ? create_conversion(step.float16) : std::move(lowered[step.op].kernel);
  }
  steps_.inner.resize(steps_.tensor.size());
  form_bands(cpu_, model_, schedule_.operators, readers, &steps_);
  steps_.loops = loops_among(steps_.list.size(), [&](size_t i) {
    return steps_.list[i].converts ? fbs::OpParams::NONE : op(i).params_type();
  });
  return {};
}

Status CpuBackend::lower(unsigned index, const PerTensor<int>& readers, Float16Choice* choice) {
  const fbs::Operator& next = graph_op(index);
  std::unique_ptr<Op> lowered;
  int viewed = 0;
  const bool float16_before = index > 0 && choice->in_float16().back() != 0;
  if (const TensorId input = index > 0 ? output_of(graph_op(index - 1)) : TensorId();
      index > 0 && readers[input] == 1) {
    const auto static_only = [&](unsigned i) { return schedule_.operators[i] & Schedule::kStaticOnly; };
    if (const fbs::Unary* unary = next.params_as_Unary(); unary != nullptr && next.inputs()->Get(0) == input) {
      if (Op::Next function{cpu_, unary, nullptr, nullptr}; steps_.list[index - 1].kernel->fuse(function))
        FERRY_TRY((float16_before ? create_float16_reshape : create_reshape)(cpu_, model_, next, &lowered));
    } else if (static_only(index) == static_only(index - 1)) {
      FERRY_TRY(
          fuse_addition(cpu_, model_, next, input, float16_before, steps_.list[index - 1].kernel.get(), &lowered));
      viewed = next.inputs()->Get(0) == input ? 0 : 1;
    }
  }
  const bool is_reshape = lowered == nullptr && next.params_type() == fbs::OpParams::Reshape;
  steps_.list[index].view = static_cast<uint8_t>(lowered != nullptr ? 1 + viewed : is_reshape ? 1 : 0);
  bool in_float16 = lowered != nullptr && float16_before;  // like the operator that computes it
  if (lowered == nullptr && float16_ && choice->pays(next)) {
    FERRY_TRY(create_float16_op(cpu_, model_, next, &lowered));
    in_float16 = lowered != nullptr;
  }
  choice->add(next, in_float16);
  if (lowered == nullptr) FERRY_TRY(create_op(cpu_, model_, next, &lowered));
  if (has_weight(next.params_type())) model_.forget(next.inputs()->Get(1));  // it has been packed
  steps_.list[index].kernel = std::move(lowered);
  return {};
}

uint64_t CpuBackend::bytes(const Shapes& shapes, TensorId value) const {
  const TensorId tensor = tensor_of(value);
  const uint64_t bytes = bytes_of(model_.tensor(tensor).dtype(), shapes[tensor].elements());
  return steps_.float16[value] != 0 ? bytes / 2 : bytes;
}

void* CpuBackend::address(const MemoryLayout& layout, TensorId value) const {
  const TensorId tensor = tensor_of(value);
  if (model_.is_constant(tensor)) {
    return const_cast<std::byte*>(model_.constant(tensor).data());  // const_cast: operators write activations only
  }
  if (const int state = state_of_[tensor]; state >= 0 && value == tensor)
    return states_->data(static_cast<size_t>(state));
  const uint64_t offset = layout.plan.offsets[value];
  return offset == kNoOffset ? nullptr : layout.arena.get() + offset;
}

Status CpuBackend::plan(MemoryLayout* layout) const {
  PlanRequest request;
  request.bytes = layout->room;
  const auto present = [&](TensorId value) { return bytes(layout->shapes, value); };
  for (size_t i = 0; i < steps_.list.size(); ++i) {
    PlanRequest::Step step;
    step.inputs = steps_.list[i].inputs;
    step.outputs = steps_.list[i].outputs;
    const unsigned view = steps_.list[i].view;
    // The second operand of the fused sum shares the output's memory.
    if (view > 1) std::swap(step.inputs[0], step.inputs[view - 1]);
    // These must have the output's size at every shape, not only at the bounds.
    if (!steps_.list[i].converts)
      for (const TensorId value : reusable_inputs(op(i).params_type(), step.inputs))
        if (present(value) == present(step.outputs[0])) step.reusable.push_back(value);
    step.workspace = layout->workspaces[i];
    step.view = view != 0 && present(step.inputs[0]) == present(step.outputs[0]);
    request.steps.push_back(std::move(step));
  }
  request.loops = steps_.loops;
  for (const fbs::Port* port : *model_.graph().inputs()) request.inputs.push_back(port->tensor());
  request.kept = kept_;
  request.cached = schedule_.cached;
  for (const TensorId tensor : schedule_.cached)
    if (steps_.copies[tensor] != tensor) request.cached.push_back(steps_.copies[tensor]);

  layout->plan = make_plan(request);
  return budget_ != nullptr ? budget_->check(MemoryBudget::Part::Activations, layout->plan.arena_bytes) : Status();
}

void CpuBackend::set_states() {
  if (states_ == nullptr) return;
  for (const Step& step : steps_.list) step.kernel->set_states(*states_);
}

Status CpuBackend::reshape_op(size_t i, const Shapes& shapes, uint64_t* workspace) {
  if ((flags_[i] & Schedule::kNeeded) == 0) return {};
  operands_.clear();
  for (const TensorId value : steps_.list[i].inputs) operands_.push_back(shapes[tensor_of(value)]);
  const Shape& output = shapes[tensor_of(steps_.list[i].outputs[0])];
  const Status status = steps_.list[i].kernel->reshape(operands_, output, pool_, workspace);
  return status.ok() ? status : at_operator(status, op(i));
}

Status CpuBackend::reshape_ops(const Shapes& shapes, std::vector<uint64_t>* workspaces) {
  for (size_t i = 0; i < steps_.list.size(); ++i) {
    uint64_t workspace = 0;
    FERRY_TRY(reshape_op(i, shapes, &workspace));
    (*workspaces)[i] = std::max((*workspaces)[i], workspace);
  }
  return {};
}

Status CpuBackend::setup_op(size_t i, const MemoryLayout& layout) {
  if ((flags_[i] & Schedule::kNeeded) == 0) return {};
  sources_.clear();
  results_.clear();
  for (const TensorId value : steps_.list[i].inputs) sources_.push_back(address(layout, value));
  for (const TensorId value : steps_.list[i].outputs) results_.push_back(address(layout, value));
  const uint64_t workspace = layout.plan.workspaces[i];
  void* scratch = workspace == kNoOffset ? nullptr : layout.arena.get() + workspace;
  Status status = steps_.list[i].kernel->setup_outputs(sources_, results_, scratch);
  return status.ok() ? status : at_operator(status, op(i));
}

Status CpuBackend::setup_ops(const MemoryLayout& layout) {
  for (size_t i = 0; i < steps_.list.size(); ++i) FERRY_TRY(setup_op(i, layout));
  moves_ = states_ != nullptr ? states_->moves() : 0;
  return {};
}

Status CpuBackend::lay_out(const Shapes& bounds, MemoryLayout* layout) {
  for (const TensorId value : steps_.tensor.ids()) {
    const uint64_t largest = bounds.empty() ? 0 : bytes(bounds, value);
    layout->room.push_back(in_arena(value) ? std::max(bytes(layout->shapes, value), largest) : 0);
  }
  // Plan without workspaces first: absurd sizes fail here, before operators allocate tables for them.
  layout->workspaces.assign(steps_.list.size(), 0);
  FERRY_TRY(plan(layout));
  usable_ = false;
  set_states();
  if (!bounds.empty()) FERRY_TRY(reshape_ops(bounds, &layout->workspaces));
  FERRY_TRY(reshape_ops(layout->shapes, &layout->workspaces));
  FERRY_TRY(plan(layout));
  const uint64_t size = std::max<uint64_t>(layout->plan.arena_bytes, kAlignment);
  layout->arena = allocate_arena(size);
  if (layout->arena == nullptr) {
    return error(FERRY_OUT_OF_MEMORY, "cannot allocate %" PRIu64 " bytes for activations", size);
  }
  if (bounds.empty()) populate(layout->arena.get(), static_cast<size_t>(size));  // larger shapes may never come
  return setup_ops(*layout);
}

Status CpuBackend::restore() {
  if (usable_ || layout_.arena == nullptr) return {};
  std::vector<uint64_t> workspaces(steps_.list.size(), 0);
  FERRY_TRY(reshape_ops(layout_.shapes, &workspaces));
  FERRY_TRY(setup_ops(layout_));
  usable_ = true;
  return {};
}

Status CpuBackend::prepare(const Shapes& shapes, const Shapes& bounds) {
  MemoryLayout layout;
  layout.shapes = shapes;
  if (Status status = lay_out(bounds, &layout); !status.ok()) {
    (void)restore();
    return status;
  }
  for (const fbs::Port* port : *model_.graph().inputs()) {
    const TensorId tensor = port->tensor();
    const bool kept = layout_.arena != nullptr && layout_.shapes[tensor] == shapes[tensor];
    if (kept) {
      std::memcpy(address(layout, tensor), data(tensor), bytes(shapes, tensor));
    } else {
      std::memset(address(layout, tensor), 0, bytes(shapes, tensor));
    }
  }
  layout_ = std::move(layout);
  usable_ = true;
  static_known_ = false;
  if (budget_ != nullptr) budget_->set(MemoryBudget::Part::Activations, layout_.plan.arena_bytes);
  return {};
}

bool CpuBackend::has_room(const Shapes& shapes) const {
  for (const TensorId value : steps_.tensor.ids())
    if (in_arena(value) && bytes(shapes, value) > layout_.room[value]) return false;
  // Values that share memory must have the same size; otherwise the output overwrites elements that are still to be
  // read.
  const PerTensor<uint64_t>& offsets = layout_.plan.offsets;
  for (size_t i = 0; i < steps_.list.size(); ++i) {
    const TensorId output = steps_.list[i].outputs[0];
    for (const TensorId input : steps_.list[i].inputs) {
      if (offsets[input] != kNoOffset && offsets[input] == offsets[output] &&
          bytes(shapes, input) != bytes(shapes, output))
        return false;
    }
  }
  return true;
}

bool CpuBackend::changed(size_t i, const Shapes& shapes) const {
  const auto differs = [&](TensorId value) { return shapes[tensor_of(value)] != layout_.shapes[tensor_of(value)]; };
  const Step& step = steps_.list[i];
  return std::any_of(step.inputs.begin(), step.inputs.end(), differs) ||
         std::any_of(step.outputs.begin(), step.outputs.end(), differs);
}

Status CpuBackend::reshape(const Shapes& shapes, bool* fits) {
  *fits = usable_ && has_room(shapes);
  if (!*fits) return {};
  usable_ = false;
  set_states();
  const bool moved = states_ != nullptr && states_->moves() != moves_;
  for (size_t i = 0; i < steps_.list.size(); ++i) {
    const bool with_state = op(i).params_type() == fbs::OpParams::Positions;  // its shape does not determine the length
    Status status;
    if (with_state || changed(i, shapes)) {
      if (static_only(i)) static_known_ = false;
      uint64_t workspace = 0;
      status = reshape_op(i, shapes, &workspace);
      *fits = *fits && workspace <= layout_.workspaces[i];
    } else if (!moved) {
      continue;
    }
    if (status.ok() && *fits) status = setup_op(i, layout_);
    if (status.ok() && *fits) continue;
    (void)restore();
    return status;
  }
  for (const fbs::Port* port : *model_.graph().inputs()) {
    const TensorId tensor = port->tensor();
    if (shapes[tensor] != layout_.shapes[tensor]) std::memset(data(tensor), 0, bytes(shapes, tensor));
  }
  layout_.shapes = shapes;  // same rank: nothing is allocated
  moves_ = states_ != nullptr ? states_->moves() : 0;
  usable_ = true;
  return {};
}

Status CpuBackend::run(const std::atomic<Progress>& progress, StaticInputs static_inputs) {
  if (!usable_) FERRY_TRY(restore());
  const bool known = std::exchange(static_known_, false) && static_inputs == StaticInputs::Unchanged;
  using Clock = std::chrono::steady_clock;
  const bool profile = !microseconds_.empty();
  std::fill(microseconds_.begin(), microseconds_.end(), 0.0);
  for (size_t i = 0; i < steps_.list.size(); ++i) {
    if ((flags_[i] & Schedule::kNeeded) == 0 || (known && static_only(i))) continue;
    if (progress.load(std::memory_order_relaxed) == Progress::Cancelled) return Status(kCancelled);
    const Clock::time_point start = profile ? Clock::now() : Clock::time_point();
    FERRY_TRY(steps_.list[i].kernel->run(pool_));
    if (profile)
      microseconds_[steps_.list[i].op] += std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    if (!steps_.loops.empty()) i = step_before_next(i);
  }
  static_known_ = schedule_.has_static_inputs;
  return {};
}

}  // namespace

Status create_backend(const Model& model, const SessionOptions& options, const std::vector<uint8_t>& kept_taps,
                      Pool* pool, std::unique_ptr<Backend>* out) {
  FERRY_TRY(initialize());
  PackedFiles files(model, model.packed(), options.cache_dir);
  PackedTarget target;
  if (files.wanted()) files.open(packed_target(model, &target), target);
  const uint64_t weights_before = options.budget != nullptr ? options.budget->bytes(MemoryBudget::Part::Weights) : 0;
  std::unique_ptr<CpuBackend> backend;
  do {
    backend.reset();
    if (options.budget != nullptr) options.budget->set(MemoryBudget::Part::Weights, weights_before);
    backend = std::make_unique<CpuBackend>(model, options, pool);
    FERRY_TRY(backend->create(options, kept_taps));
  } while (files.save());  // a second time over the file, which frees the weights packed on the heap
  backend->add_notes(files.notes());
  *out = std::move(backend);
  return {};
}

}  // namespace ferry::cpu
