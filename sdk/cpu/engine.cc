#include "sdk/cpu/engine.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstring>
#include <new>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/packed_files.h"
#include "sdk/graph/plan.h"
#include "sdk/model/packed_store.h"
#include "sdk/model/type.h"
#include "sdk/operators/shape_rules.h"

namespace ferry::cpu {
namespace {

int output_of(const fbs::Operator& op) { return op.outputs()->Get(0); }

// Inputs whose memory the output may take over: a tensor that is read twice must allow it at both places.
std::vector<int> reusable_inputs(const fbs::Operator& op) {
  std::vector<int> reusable;
  const auto& inputs = *op.inputs();
  for (unsigned i = 0; i < inputs.size(); ++i) {
    bool allowed = true;
    for (unsigned j = 0; j < inputs.size(); ++j) {
      if (inputs[j] == inputs[i]) allowed = allowed && may_run_in_place(op.params_type(), j);
    }
    if (allowed) reusable.push_back(inputs[i]);
  }
  return reusable;
}

struct FreeArena {
  void operator()(std::byte* arena) const { ::operator delete (arena, std::align_val_t{kAlignment}); }
};

// All that depends on the shapes.
struct Layout {
  std::vector<Shape> shapes;  // of every tensor
  Plan plan;
  std::unique_ptr<std::byte, FreeArena> arena;
};

class CpuEngine : public Engine {
 public:
  CpuEngine(const Model& model, const SessionOptions& options, pthreadpool_t pool)
      : model_(model), memory_limit_(options.memory_limit), pool_(pool) {}

  Status create(const SessionOptions& options, const std::vector<bool>& kept_taps);
  void add_notes(const std::vector<std::string>& notes) {
    report_.notes.insert(report_.notes.end(), notes.begin(), notes.end());
  }

  Status prepare(const std::vector<Shape>& shapes) override;
  Status run(const std::atomic<Progress>& progress) override;
  void* data(int tensor) const override { return address(layout_, tensor); }
  uint64_t arena_bytes() const override { return layout_.plan.arena_bytes; }
  uint64_t packed_bytes() const override { return model_.packed().bytes(); }
  std::span<const double> microseconds() const override { return microseconds_; }
  const char* backend_of(size_t) const override { return "cpu"; }
  const EngineReport& report() const override { return report_; }

 private:
  const fbs::Operator& op(size_t i) const { return *model_.graph().operators()->Get(static_cast<unsigned>(i)); }
  uint64_t bytes(const Layout& layout, int tensor) const;
  void* address(const Layout& layout, int tensor) const;
  Status lower(unsigned index, const std::vector<int>& readers);
  Status plan(const std::vector<uint64_t>& workspaces, Layout* layout) const;
  Status reshape_ops(const std::vector<Shape>& shapes, std::vector<uint64_t>* workspaces);
  Status setup_ops(const Layout& layout);
  // Lays out everything for `layout->shapes`. Leaves the operators changed where it fails.
  Status lay_out(Layout* layout, bool* ops_changed);

  const Model& model_;
  uint64_t memory_limit_;
  pthreadpool_t pool_;
  std::vector<int> kept_;  // outputs and kept taps
  std::vector<std::unique_ptr<Op>> ops_;
  std::vector<bool> views_;  // operators that leave their input's bytes as they are
  Layout layout_;
  bool usable_ = false;  // the operators fit layout_
  std::vector<double> microseconds_;
  EngineReport report_;
};

Status CpuEngine::create(const SessionOptions& options, const std::vector<bool>& kept_taps) {
  const fbs::Graph& graph = model_.graph();
  for (const fbs::Port* port : *graph.outputs()) kept_.push_back(static_cast<int>(port->tensor()));
  for (size_t i = 0; i < kept_taps.size(); ++i) {
    if (kept_taps[i]) kept_.push_back(static_cast<int>(graph.taps()->Get(static_cast<unsigned>(i))->tensor()));
  }
  std::vector<int> readers(graph.tensors()->size());  // of each tensor, the app among them
  for (const fbs::Operator* op : *graph.operators()) {
    for (const int tensor : *op->inputs()) ++readers[static_cast<size_t>(tensor)];
  }
  for (const int tensor : kept_) ++readers[static_cast<size_t>(tensor)];
  for (unsigned i = 0; i < graph.operators()->size(); ++i) {
    if (Status status = lower(i, readers); !status.ok()) return at_operator(status, op(i));
  }
  if (options.profile) microseconds_.resize(ops_.size());
  report_.cpu_operators = ops_.size();
  return {};
}

Status CpuEngine::lower(unsigned index, const std::vector<int>& readers) {
  const fbs::Operator& next = op(index);
  std::unique_ptr<Op> lowered;
  if (const fbs::Unary* unary = next.params_as_Unary(); unary != nullptr && index > 0) {
    const int input = next.inputs()->Get(0);
    const bool only_reader = input == output_of(op(index - 1)) && readers[static_cast<size_t>(input)] == 1;
    if (only_reader && ops_.back()->fuse(*unary)) FERRY_TRY(create_reshape(model_, next, &lowered));
  }
  views_.push_back(lowered != nullptr || next.params_type() == fbs::OpParams::Reshape);
  if (lowered == nullptr) FERRY_TRY(create_op(model_, next, &lowered));
  ops_.push_back(std::move(lowered));
  return {};
}

uint64_t CpuEngine::bytes(const Layout& layout, int tensor) const {
  return bytes_of(model_.tensor(tensor).dtype(), layout.shapes[static_cast<size_t>(tensor)].elements());
}

void* CpuEngine::address(const Layout& layout, int tensor) const {
  if (model_.is_constant(tensor)) {
    return const_cast<std::byte*>(model_.constant(tensor).data());  // for reading: operators write activations only
  }
  const uint64_t offset = layout.plan.offsets[static_cast<size_t>(tensor)];
  return offset == kNoOffset ? nullptr : layout.arena.get() + offset;
}

Status CpuEngine::plan(const std::vector<uint64_t>& workspaces, Layout* layout) const {
  PlanRequest request;
  for (size_t t = 0; t < layout->shapes.size(); ++t) {
    const int tensor = static_cast<int>(t);
    request.bytes.push_back(model_.is_constant(tensor) ? 0 : bytes(*layout, tensor));
  }
  for (size_t i = 0; i < ops_.size(); ++i) {
    PlanRequest::Step step;
    step.inputs.assign(op(i).inputs()->begin(), op(i).inputs()->end());
    step.reusable = reusable_inputs(op(i));
    step.output = output_of(op(i));
    step.workspace = workspaces[i];
    step.view = views_[i];
    request.steps.push_back(std::move(step));
  }
  for (const fbs::Port* port : *model_.graph().inputs()) request.inputs.push_back(static_cast<int>(port->tensor()));
  request.kept = kept_;

  layout->plan = make_plan(request);
  if (layout->plan.arena_bytes > memory_limit_) {
    return error(FERRY_MEMORY_LIMIT, "activations need %" PRIu64 " bytes; the session's memory_limit is %" PRIu64,
                 layout->plan.arena_bytes, memory_limit_);
  }
  return {};
}

Status CpuEngine::reshape_ops(const std::vector<Shape>& shapes, std::vector<uint64_t>* workspaces) {
  std::vector<Shape> inputs;
  workspaces->assign(ops_.size(), 0);
  for (size_t i = 0; i < ops_.size(); ++i) {
    inputs.clear();
    for (int tensor : *op(i).inputs()) inputs.push_back(shapes[static_cast<size_t>(tensor)]);
    size_t workspace = 0;
    const Shape& output = shapes[static_cast<size_t>(output_of(op(i)))];
    if (Status status = ops_[i]->reshape(inputs, output, pool_, &workspace); !status.ok()) {
      return at_operator(status, op(i));
    }
    (*workspaces)[i] = workspace;
  }
  return {};
}

Status CpuEngine::setup_ops(const Layout& layout) {
  std::vector<const void*> inputs;
  for (size_t i = 0; i < ops_.size(); ++i) {
    inputs.clear();
    for (int tensor : *op(i).inputs()) inputs.push_back(address(layout, tensor));
    const uint64_t workspace = layout.plan.workspaces[i];
    void* scratch = workspace == kNoOffset ? nullptr : layout.arena.get() + workspace;
    if (Status status = ops_[i]->setup(inputs, address(layout, output_of(op(i))), scratch); !status.ok()) {
      return at_operator(status, op(i));
    }
  }
  return {};
}

Status CpuEngine::lay_out(Layout* layout, bool* ops_changed) {
  // Planned first without workspaces: absurd sizes end here, before operators allocate tables for them.
  std::vector<uint64_t> workspaces(ops_.size(), 0);
  FERRY_TRY(plan(workspaces, layout));
  *ops_changed = true;
  FERRY_TRY(reshape_ops(layout->shapes, &workspaces));
  FERRY_TRY(plan(workspaces, layout));
  const uint64_t size = std::max<uint64_t>(layout->plan.arena_bytes, kAlignment);
  layout->arena.reset(static_cast<std::byte*>(::operator new (size, std::align_val_t{kAlignment}, std::nothrow)));
  if (layout->arena == nullptr) {
    return error(FERRY_OUT_OF_MEMORY, "cannot allocate %" PRIu64 " bytes for activations", size);
  }
  return setup_ops(*layout);
}

Status CpuEngine::prepare(const std::vector<Shape>& shapes) {
  Layout layout;
  layout.shapes = shapes;
  bool ops_changed = false;
  if (Status status = lay_out(&layout, &ops_changed); !status.ok()) {
    std::vector<uint64_t> workspaces;
    if (ops_changed && layout_.arena != nullptr)
      usable_ = reshape_ops(layout_.shapes, &workspaces).ok() && setup_ops(layout_).ok();
    return status;
  }
  for (const fbs::Port* port : *model_.graph().inputs()) {
    const int tensor = static_cast<int>(port->tensor());
    const bool kept = layout_.arena != nullptr && layout_.shapes[port->tensor()] == shapes[port->tensor()];
    if (kept) {
      std::memcpy(address(layout, tensor), data(tensor), bytes(layout, tensor));
    } else {
      std::memset(address(layout, tensor), 0, bytes(layout, tensor));
    }
  }
  layout_ = std::move(layout);
  usable_ = true;
  return {};
}

Status CpuEngine::run(const std::atomic<Progress>& progress) {
  if (!usable_) {
    return error(FERRY_BACKEND_ERROR, "a failed resize left the session without a shape: resize it or close it");
  }
  using Clock = std::chrono::steady_clock;
  const bool profile = !microseconds_.empty();
  std::fill(microseconds_.begin(), microseconds_.end(), 0.0);
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (progress.load(std::memory_order_relaxed) == Progress::Cancelled) {
      return Status(FERRY_CANCELLED, "run cancelled");  // short: no allocation
    }
    const Clock::time_point start = profile ? Clock::now() : Clock::time_point();
    FERRY_TRY(ops_[i]->run(pool_));
    if (profile) microseconds_[i] = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  }
  return {};
}

}  // namespace

Status create_engine(const Model& model, const SessionOptions& options, const std::vector<bool>& kept_taps,
                     pthreadpool_t pool, std::unique_ptr<Engine>* out) {
  FERRY_TRY(initialize());
  PackedFiles files(model, options.cache_dir);
  files.open();
  std::unique_ptr<CpuEngine> engine;
  do {
    engine.reset(new (std::nothrow) CpuEngine(model, options, pool));
    if (engine == nullptr) return error(FERRY_OUT_OF_MEMORY, "out of memory while a session was made");
    FERRY_TRY(engine->create(options, kept_taps));
  } while (files.save());  // then once more, over the file, which lets go of what was packed on the heap
  engine->add_notes(files.notes());
  *out = std::move(engine);
  return {};
}

}  // namespace ferry::cpu
