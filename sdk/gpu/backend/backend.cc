#include "sdk/gpu/backend/backend.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstring>
#include <optional>
#include <utility>

#include "sdk/cpu/backend/fingerprint.h"
#include "sdk/cpu/elementwise/state_elements.h"
#include "sdk/gpu/audit/audit.h"
#include "sdk/gpu/backend/frame.h"
#include "sdk/gpu/backend/layout.h"
#include "sdk/gpu/backend/states.h"
#include "sdk/gpu/backend/tune.h"
#include "sdk/gpu/backend/watch.h"
#include "sdk/gpu/backend/weights.h"
#include "sdk/gpu/canary/canary.h"
#include "sdk/gpu/canary/denormals.h"
#include "sdk/gpu/canary/replay.h"
#include "sdk/gpu/canary/verdicts.h"
#include "sdk/gpu/device/interop.h"
#include "sdk/gpu/device/pipelines.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/model/packed_files.h"

namespace ferry::gpu {
namespace {

// Whether a step's tensors have the same shapes in both.
bool same_shapes(const Step& step, const Shapes& a, const Shapes& b) {
  const auto same = [&](TensorId tensor) { return a[tensor] == b[tensor]; };
  return std::all_of(step.inputs.begin(), step.inputs.end(), same) && same(step.output) &&
         std::all_of(step.further_outputs.begin(), step.further_outputs.end(), same);
}

class GpuBackend : public Backend, public Interop {
 public:
  GpuBackend(const Model& model, const SessionOptions& options, Pool* pool)
      : model_(model), options_(options), pool_(pool), cpu_files_(model, model.packed(), options.cache_dir) {}

  Status create(const std::vector<uint8_t>& kept_taps);

  Status prepare(const Shapes& shapes, const Shapes& bounds) override;
  Status reshape(const Shapes& shapes, bool* fits) override;
  Status run(const std::atomic<Progress>& progress, StaticInputs) override;
  void states_advanced() override;
  bool submitted() const override { return submitted_; }
  Status finish() override;
  Status check_kernels(const KernelCheck& request, KernelReport* out) override;
  Status audit(const AuditRequest& request, AuditReport* out) override;
  bool bound() const override;
  Status import(const MemorySource& source, std::shared_ptr<const DeviceMemory>* out) override;
  Status take_frame(TensorId tensor, const image::Frame& frame, const image::Conversion& conversion) override;
  Status leave_frame(TensorId tensor) override;
  Status bind(TensorId tensor, const BufferRange& range) override;
  Status submit(const VkSubmitInfo& batch, VkFence fence) override;
  void* data(TensorId tensor) const override;
  uint64_t arena_bytes() const override { return layout_.device.arena_bytes + layout_.host.arena_bytes; }
  uint64_t packed_bytes() const override { return weights_->bytes(); }
  std::span<const double> microseconds() const override { return microseconds_; }
  const char* backend_of(size_t op) const override { return layout_.cpu_ops[op] != nullptr ? "cpu" : "gpu"; }
  const BackendReport& report() const override { return report_; }

 private:
  Status choose_program(const Shapes& shapes, Program* program);
  Status pack(Layout* layout);
  Status reserve_states(const Layout& layout);
  uint64_t memory(const Layout& layout) const;
  bool lower_changed(const Shapes& shapes);
  Status reshape_cpu_ops(const Shapes& former, bool* fits);
  Status bring_up_states();
  Status bring_down_states();
  void add_note(const std::string& note);
  Status record(Layout* layout);
  Status check_range(TensorId tensor, const BufferRange& range) const;
  Status check_reach(TensorId tensor) const;
  Status set_range(TensorId tensor, const BufferRange& range);
  // watched: a step of which `watch_` copies rows, or SIZE_MAX.
  Status record_segment(Layout* layout, Segment* segment, size_t watched = SIZE_MAX);
  Status record_watched(Segment* segment, size_t* replaced);
  Status judge_watched();
  BufferRange range(const Layout& layout, const Step& step, const Operand& operand) const;
  BufferRange host_range(const Layout& layout, TensorId tensor) const;
  Status dispatch(const Layout& layout, const Step& step, const Dispatch& dispatch, Commands* commands) const;
  void copy_inputs() const;
  void copy_results() const;
  Status run_segment(const Segment& segment);
  Status read_times(const Segment& segment);
  void describe();

  const Model& model_;
  const SessionOptions options_;  // its strings are read by create() only
  Pool* pool_;
  std::shared_ptr<Device> device_;
  std::optional<DeviceStates> device_states_;
  std::shared_ptr<Weights> weights_;
  std::optional<PackedFiles> files_;
  PackedFiles cpu_files_;  // of operators that run on the CPU
  Storage storage_ = Storage::Float32;
  PerTensor<bool> kept_;  // by tensor: outputs and kept taps
  Layout layout_;
  bool recorded_ = false;  // layout_ is completely recorded
  bool submitted_ = false;
  std::optional<FrameReader> frames_;
  Verdicts verdicts_;
  std::optional<Watch> watch_;
  std::vector<double> microseconds_;
  BackendReport report_;
};

Status GpuBackend::create(const std::vector<uint8_t>& kept_taps) {
  for (const fbs::Operator* op : *model_.graph().operators())
    if (bounds_loop(op->params_type()))
      return error(FERRY_GPU_UNAVAILABLE, "the network has a loop, '%.64s', which the CPU computes", text(op->name()));
  if (options_.gpu == nullptr) {
    FERRY_TRY(Device::open(options_.gpu_device, options_.gpu_cache_dir, options_.gpu_retry, &device_));
  } else {
    device_ = options_.gpu->device;
    if (device_->lost()) return error(FERRY_GPU_LOST, "the application's GPU was lost");
  }
  storage_ = options_.precision == FERRY_PRECISION_FLOAT16 ? Storage::Float16 : Storage::Float32;
  if (options_.states != nullptr) device_states_.emplace(options_.states, device_, storage_);
  weights_ = Weights::of(model_, *device_, storage_);
  files_.emplace(model_, weights_->store(), options_.cache_dir);
  PackedTarget target;
  const Status known = packed_target(model_, *device_, storage_, &target);
  if (files_->wanted()) files_->open(known, target);
  if (known.ok() && options_.cache_dir != nullptr && *options_.cache_dir != 0)
    verdicts_.open(std::string(options_.cache_dir) + "/" + target.file_name(), target, device_->pipelines());
  if (kHasGpuChecks && options_.gpu_watch > 0) watch_.emplace(model_, options_.gpu_watch);
  const fbs::Graph& graph = model_.graph();
  kept_.assign(graph.tensors()->size(), false);
  for (const fbs::Port* port : *graph.outputs()) kept_[port->tensor()] = true;
  for (size_t i = 0; i < kept_taps.size(); ++i)
    if (kept_taps[i]) kept_[graph.taps()->Get(static_cast<unsigned>(i))->tensor()] = true;
  if (options_.profile) microseconds_.resize(graph.operators()->size());
  return {};
}

void* GpuBackend::data(TensorId tensor) const {
  if (model_.is_constant(tensor)) return const_cast<std::byte*>(model_.constant(tensor).data());
  if (layout_.port_memory == nullptr) return nullptr;
  if (const int state = layout_.program.state_of[tensor]; state >= 0)
    return options_.states->data(static_cast<size_t>(state));
  const uint64_t offset = layout_.ports[tensor];
  return offset == kNoOffset ? nullptr : layout_.port_memory.get() + offset;
}

// Chooses among the alternatives that this driver computes correctly; if requested, the fastest.
Status GpuBackend::choose_program(const Shapes& shapes, Program* program) {
  size_t measured = 0;
  if (options_.gpu_tune) FERRY_TRY(tune(model_, shapes, kept_, *device_, storage_, &measured));
  for (;;) {
    FERRY_TRY(make_program(model_, shapes, kept_, *device_, storage_, program));
    Canaries canaries;
    FERRY_TRY(run_canaries(model_, *program, *device_, &canaries));
    report_.canary_ms += canaries.milliseconds;
    for (const std::string& note : canaries.notes) add_note(note);
    if (canaries.failures == 0) break;
  }
  if (storage_ == Storage::Float16) {
    bool flushes = false;
    FERRY_TRY(flushes_float16(*device_, &flushes));
    if (flushes) add_note(kFlushesFloat16);
  }
  for (const std::string& note : verdicts_.notes()) add_note(note);
  report_.canary_failures = device_->pipelines().count(Pipelines::Verdict::Wrong);
  report_.canary_count = report_.canary_failures + device_->pipelines().count(Pipelines::Verdict::Right);
  device_->pipelines().save();
  return {};
}

void GpuBackend::add_note(const std::string& note) {
  if (std::find(report_.notes.begin(), report_.notes.end(), note) == report_.notes.end()) report_.notes.push_back(note);
}

// Packs the weights of both sides or loads them packed: the device's here, the CPU's during lowering.
Status GpuBackend::pack(Layout* layout) {
  FERRY_TRY(weights_->pack(ModelConstants(model_), layout->program.weights, &layout->weights));
  for (const TensorId t : model_.tensors())
    if (model_.is_constant(t)) model_.forget(t);
  if (files_->saves()) {
    if (Status status = weights_->read_back(); status.ok())
      files_->save();
    else
      files_->note(status);
  }
  const std::vector<Step>& steps = layout->program.steps;
  const bool all_on_gpu = std::all_of(steps.begin(), steps.end(), [](const Step& step) { return step.on_gpu; });
  if (all_on_gpu || !cpu_files_.wanted()) return {};
  FERRY_TRY(cpu::initialize());
  PackedTarget target;
  cpu_files_.open(cpu::packed_target(model_, &target), target);
  return {};
}

Status GpuBackend::prepare(const Shapes& shapes, const Shapes&) {
  Layout layout;
  FERRY_TRY(choose_program(shapes, &layout.program));
  layout.bound.resize(shapes.size());
  FERRY_TRY(pack(&layout));
  const States* states = options_.states.get();
  FERRY_TRY(plan_layout(model_, kept_, device_->limits().offset_alignment, options_.budget, states, pool_, &layout));
  FERRY_TRY(reserve_states(layout));
  cpu_files_.save();
  const auto atom = [](uint64_t bytes) { return std::max<uint64_t>(bytes, kAlignment); };
  FERRY_TRY(device_->allocate(atom(layout.device.arena_bytes), MemoryUse::Device, &layout.arena));
  FERRY_TRY(device_->allocate(atom(layout.host.arena_bytes), MemoryUse::Readback, &layout.transfer));
  // Bindings of the application stay valid while its inputs and outputs keep their shapes; states grow between runs.
  const bool same_ports = layout.ports == layout_.ports && layout.port_bytes == layout_.port_bytes;
  if (!same_ports) {
    layout.port_memory.reset(new (std::nothrow) std::byte[layout.port_bytes]());
    if (layout.port_memory == nullptr)
      return error(FERRY_OUT_OF_MEMORY, "cannot allocate %" PRIu64 " bytes for inputs and outputs", layout.port_bytes);
  }
  FERRY_TRY(record(&layout));
  FERRY_TRY(setup_cpu_ops(model_, states, layout));

  if (same_ports) {
    layout.port_memory = std::move(layout_.port_memory);
    for (const fbs::Port* port : *model_.graph().inputs()) {
      const TensorId t = port->tensor();
      if (layout_.program.shapes[t] != shapes[t])
        std::memset(layout.port_memory.get() + layout.ports[t], 0, host_bytes(shapes[t]));
    }
  } else if (layout_.port_memory != nullptr) {
    for (const fbs::Port* port : *model_.graph().inputs()) {
      const TensorId t = port->tensor();
      if (layout_.program.shapes[t] == shapes[t])
        std::memcpy(layout.port_memory.get() + layout.ports[t], layout_.port_memory.get() + layout_.ports[t],
                    host_bytes(shapes[t]));
    }
  }
  layout_ = std::move(layout);
  recorded_ = true;
  if (watch_) watch_->forget();
  if (options_.budget != nullptr) options_.budget->set(MemoryBudget::Part::Activations, memory(layout_));
  for (const PackedFiles* files : {&*files_, &cpu_files_})
    for (const std::string& note : files->notes()) add_note(note);
  describe();
  return {};
}

uint64_t GpuBackend::memory(const Layout& layout) const {
  const uint64_t bytes = memory_of(layout);
  return device_states_ ? bytes + std::min(device_states_->bytes(), UINT64_MAX - bytes) : bytes;
}

// Reserves device memory for the states. If one moves, layout_ is out of date.
Status GpuBackend::reserve_states(const Layout& layout) {
  const Program& program = layout.program;
  for (const TensorId t : program.state_of.ids()) {
    if (!is_device_state(program, t)) continue;
    bool moved = false;
    FERRY_TRY(device_states_->reserve(static_cast<size_t>(program.state_of[t]), program.shapes[t], &moved));
    if (moved) recorded_ = false;
  }
  for (size_t state = 0; state < program.device_states.size(); ++state) {
    if (!program.device_states[state]) continue;
    const StateShape& held = options_.states->shapes()[state];
    bool moved = false;  // before anything was recorded
    if (held.fixed()) FERRY_TRY(device_states_->reserve(state, held.bound, &moved));
  }
  return options_.budget != nullptr ? options_.budget->check(MemoryBudget::Part::Activations, memory(layout))
                                    : Status();
}

// Lowers the steps whose shapes have changed. They fit if they need no more memory, no other weights and no kernel
// without a verdict. In either case, layout_ no longer matches what was recorded.
bool GpuBackend::lower_changed(const Shapes& shapes) {
  Program& program = layout_.program;
  const size_t regions = program.weights.size();
  for (Step& step : program.steps) {
    if (!step.on_gpu || same_shapes(step, shapes, program.shapes)) continue;
    recorded_ = false;
    Step next;
    if (!lower_again(model_, step, shapes, *device_, &program, &next).ok() || next.view != step.view ||
        next.workspace > step.workspace || program.weights.size() > regions)
      return false;
    for (const Dispatch& d : next.dispatches)
      if (device_->pipelines().verdict(d.variant) != Pipelines::Verdict::Right) return false;
    next.workspace = step.workspace;
    step = std::move(next);
  }
  return true;
}

// Steps whose shapes differ from `former`, and steps that read a state's length.
Status GpuBackend::reshape_cpu_ops(const Shapes& former, bool* fits) {
  const Shapes& shapes = layout_.program.shapes;
  for (size_t s = 0; s < layout_.program.steps.size(); ++s) {
    const Step& step = layout_.program.steps[s];
    if (step.on_gpu) continue;
    const bool reads_state = names_state(operator_at(model_, step.operators[0]).params_type());
    if (!reads_state && same_shapes(step, shapes, former)) continue;
    uint64_t workspace = 0;
    cpu::Op& op = *layout_.cpu_ops[static_cast<size_t>(step.operators[0])];
    FERRY_TRY(reshape_cpu_op(model_, step, shapes, options_.states.get(), pool_, &op, &workspace));
    if (workspace > layout_.host_workspaces[s]) *fits = false;
  }
  return {};
}

// For states of another length: lowers only the steps that depend on it and records everything again, at the same
// addresses. If that does not fit, the layout is prepared again.
Status GpuBackend::reshape(const Shapes& shapes, bool* fits) {
  *fits = recorded_ && options_.states != nullptr;
  const Program& program = layout_.program;
  for (const TensorId t : shapes.ids())
    if (shapes[t] != program.shapes[t] && program.state_of[t] < 0) *fits = false;
  if (!*fits || !(*fits = lower_changed(shapes))) return {};
  const bool changed = !recorded_;
  recorded_ = false;
  const Shapes former = std::exchange(layout_.program.shapes, shapes);
  Status status = reserve_states(layout_);
  if (status.ok() && changed) {
    layout_.segments.clear();
    status = record(&layout_);
  }
  if (status.ok()) status = reshape_cpu_ops(former, fits);
  if (status.ok()) status = setup_cpu_ops(model_, options_.states.get(), layout_);
  if (watch_) watch_->forget();
  *fits = recorded_ = status.ok() && *fits;  // a failing device fails again during the complete preparation
  if (recorded_ && options_.budget != nullptr) options_.budget->set(MemoryBudget::Part::Activations, memory(layout_));
  return {};
}

// Uploads the states to the device's copies.
Status GpuBackend::bring_up_states() {
  const std::vector<uint8_t>& there = layout_.program.device_states;
  for (size_t state = 0; state < there.size(); ++state)
    if (there[state]) FERRY_TRY(device_states_->bring_up(state));
  return {};
}

// Copies rows appended on the device to the host's states, and downloads the states of fixed size.
Status GpuBackend::bring_down_states() {
  const Program& program = layout_.program;
  for (const Step& step : program.steps) {
    if (!appends_on_device(program, step)) continue;
    const TensorId input = step.inputs[0];
    const auto state = static_cast<size_t>(program.state_of[step.output]);
    const auto count = static_cast<size_t>(program.shapes[input].elements());
    const auto all = static_cast<size_t>(program.shapes[step.output].elements());
    const auto* rows = reinterpret_cast<const float*>(layout_.transfer.mapped() + layout_.host.offsets[input]);
    cpu::StateElements(options_.states->shapes()[state]).store(rows, all - count, count, options_.states->data(state));
  }
  for (size_t state = 0; state < program.device_states.size(); ++state)
    if (program.device_states[state]) FERRY_TRY(device_states_->bring_down(state));
  return {};
}

void GpuBackend::states_advanced() {
  const std::vector<uint8_t>& there = layout_.program.device_states;
  for (size_t state = 0; state < there.size(); ++state)
    if (there[state]) device_states_->advanced(state);
}

void GpuBackend::describe() {
  report_.backend = FERRY_BACKEND_GPU;
  report_.precision = options_.precision;
  report_.device = device_->info().properties.deviceName;
  report_.driver = device_->info().driver;
  report_.gpu_operators = report_.cpu_operators = report_.transfers = 0;
  for (const Step& step : layout_.program.steps)
    (step.on_gpu ? report_.gpu_operators : report_.cpu_operators) += step.operators.size();
  for (const TensorId t : layout_.program.shapes.ids())
    if (layout_.host.offsets[t] != kNoOffset && layout_.device.offsets[t] != kNoOffset) ++report_.transfers;
}

BufferRange GpuBackend::host_range(const Layout& layout, TensorId tensor) const {
  if (layout.bound[tensor].buffer != VK_NULL_HANDLE) return layout.bound[tensor];
  return {layout.transfer.handle(), layout.host.offsets[tensor], host_bytes(layout.program.shapes[tensor])};
}

BufferRange GpuBackend::range(const Layout& layout, const Step& step, const Operand& operand) const {
  if (operand.kind == Operand::Kind::Value && is_device_state(layout.program, operand.tensor))
    return device_states_->range(static_cast<size_t>(layout.program.state_of[operand.tensor]),
                                 layout.program.shapes[operand.tensor]);
  switch (operand.kind) {
    case Operand::Kind::None: return {};
    case Operand::Kind::Weights: return layout.weights[operand.region];
    case Operand::Kind::Host: return host_range(layout, operand.tensor);
    case Operand::Kind::State: return device_states_->range(operand.region);
    case Operand::Kind::Workspace: {
      const uint64_t start = layout.device_workspaces[static_cast<size_t>(&step - layout.program.steps.data())];
      return {layout.arena.handle(), start + operand.offset, operand.bytes};
    }
    case Operand::Kind::Value: break;
  }
  return {layout.arena.handle(), layout.device.offsets[operand.tensor],
          stored_bytes(layout.program.shapes[operand.tensor], storage_)};
}

Status GpuBackend::dispatch(const Layout& layout, const Step& step, const Dispatch& dispatch,
                            Commands* commands) const {
  std::array<BufferRange, kBindings> ranges;
  for (size_t i = 0; i < kBindings; ++i) ranges[i] = range(layout, step, dispatch.bindings[i]);
  return commands->dispatch(dispatch, ranges);
}

// Splits the steps into segments and records those of the GPU. A value is uploaded before its first reader on the GPU
// and downloaded as soon as it is available.
Status GpuBackend::record(Layout* layout) {
  const Program& program = layout->program;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    if (layout->segments.empty() || layout->segments.back().on_gpu != program.steps[s].on_gpu) {
      layout->segments.emplace_back();
      layout->segments.back().on_gpu = program.steps[s].on_gpu;
    }
    layout->segments.back().steps.push_back(s);
  }
  for (Segment& segment : layout->segments)
    if (segment.on_gpu) FERRY_TRY(record_segment(layout, &segment));
  return {};
}

Status GpuBackend::record_segment(Layout* layout, Segment* segment, size_t watched) {
  const Program& program = layout->program;
  // On the device already: written by a kernel or uploaded by an earlier segment.
  PerTensor<bool> uploaded(program.shapes.size(), false);
  size_t count = 0;
  for (size_t s = 0; s <= segment->steps.back(); ++s) {
    const Step& step = program.steps[s];
    if (!step.on_gpu) continue;
    for (TensorId tensor : outputs_of(step)) uploaded[tensor] = true;
    count += step.inputs.size() + step.dispatches.size() + 1 + step.further_outputs.size();
    if (s < segment->steps.front())
      for (TensorId tensor : step.inputs) uploaded[tensor] = true;
  }
  segment->commands = std::make_unique<Commands>(*device_);
  Commands& commands = *segment->commands;
  const bool foreign = std::any_of(layout->bound.begin(), layout->bound.end(),
                                   [](const BufferRange& range) { return range.buffer != VK_NULL_HANDLE; });
  FERRY_TRY(commands.begin(count, options_.profile, foreign));
  const auto move = [&](Kernel kernel, const Step& step, TensorId tensor) {
    const Shape& shape = program.shapes[tensor];
    const fbs::DType dtype = model_.tensor(tensor).dtype();
    return dispatch(*layout, step, transfer(kernel, tensor, shape, storage_, device_->limits(), dtype), &commands);
  };
  for (size_t s : segment->steps) {
    const Step& step = program.steps[s];
    for (TensorId tensor : step.inputs) {
      if (uploaded[tensor]) continue;
      uploaded[tensor] = true;
      FERRY_TRY(move(Kernel::Upload, step, tensor));
    }
    const auto place = [&](TensorId tensor) { return range(*layout, step, Operand::value(tensor)); };
    if (kHasGpuChecks && s == watched) watch_->record_inputs(place, &commands);
    for (const Dispatch& d : step.dispatches) FERRY_TRY(dispatch(*layout, step, d, &commands));
    if (kHasGpuChecks && s == watched) watch_->record_output(place, &commands);
    for (TensorId tensor : outputs_of(step))
      if (layout->host.offsets[tensor] != kNoOffset) FERRY_TRY(move(Kernel::Download, step, tensor));
    commands.timestamp();
    segment->timed.push_back(s);
  }
  return commands.end();
}

void GpuBackend::copy_inputs() const {
  for (const fbs::Port* port : *model_.graph().inputs()) {
    const TensorId t = port->tensor();
    if (layout_.bound[t].buffer != VK_NULL_HANDLE) continue;
    std::memcpy(layout_.transfer.mapped() + layout_.host.offsets[t], layout_.port_memory.get() + layout_.ports[t],
                host_bytes(layout_.program.shapes[t]));
  }
}

void GpuBackend::copy_results() const {
  for (const TensorId t : kept_.ids()) {
    if (!kept_[t] || layout_.ports[t] == kNoOffset || layout_.bound[t].buffer != VK_NULL_HANDLE) continue;
    std::memcpy(layout_.port_memory.get() + layout_.ports[t], layout_.transfer.mapped() + layout_.host.offsets[t],
                host_bytes(layout_.program.shapes[t]));
  }
}

Status GpuBackend::run(const std::atomic<Progress>& progress, StaticInputs) {
  if (!recorded_) FERRY_TRY(prepare(Shapes(layout_.program.shapes), {}));
  const auto start = std::chrono::steady_clock::now();
  Segment watched;
  size_t replaced = SIZE_MAX;
  if (kHasGpuChecks && watch_) FERRY_TRY(record_watched(&watched, &replaced));
  const std::chrono::duration<double> recording = std::chrono::steady_clock::now() - start;
  FERRY_TRY(bring_up_states());
  copy_inputs();
  for (size_t i = 0; i < layout_.segments.size(); ++i) {
    if (progress.load(std::memory_order_relaxed) == Progress::Cancelled) return Status(kCancelled);
    FERRY_TRY(run_segment(i == replaced ? watched : layout_.segments[i]));
  }
  std::chrono::duration<double> judging{};
  if (kHasGpuChecks && replaced != SIZE_MAX) {
    const auto begin = std::chrono::steady_clock::now();
    FERRY_TRY(judge_watched());  // before the states change: the CPU can repeat the run
    judging = std::chrono::steady_clock::now() - begin;
    watch_->add_recording(recording.count());
  }
  copy_results();
  FERRY_TRY(bring_down_states());
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  if (kHasGpuChecks && watch_) watch_->add(all.count(), (recording + judging).count());
  return {};
}

// Records a run's commands with copies of what the watch compares. *replaced: the segment for which *segment stands, or
// SIZE_MAX.
Status GpuBackend::record_watched(Segment* segment, size_t* replaced) {
  size_t step = SIZE_MAX;
  FERRY_TRY(watch_->choose(layout_.program, *device_, &step));
  if (step == SIZE_MAX) return {};
  for (size_t i = 0; i < layout_.segments.size(); ++i) {
    const std::vector<size_t>& steps = layout_.segments[i].steps;
    if (std::find(steps.begin(), steps.end(), step) == steps.end()) continue;
    segment->steps = steps;
    FERRY_TRY(record_segment(&layout_, segment, step));
    *replaced = i;
  }
  return {};
}

// A kernel that the watch finds wrong gets a verdict, which later sessions read.
Status GpuBackend::judge_watched() {
  const Step& step = layout_.program.steps[watch_->step()];
  Status status = watch_->judge(layout_.program);
  report_.watched_runs = watch_->count();
  if (status.code() != FERRY_GPU_WRONG) return status;
  verdicts_.set_wrong(work_id(step, layout_.program.shapes), step, std::string(status.message()), device_->pipelines());
  verdicts_.save();
  device_->pipelines().save();
  return status;
}

Status GpuBackend::check_kernels(const KernelCheck& request, KernelReport* out) {
  Verdicts* verdicts = request.verdicts != nullptr ? request.verdicts : &verdicts_;
  FERRY_TRY(gpu::check_kernels(model_, layout_.program, layout_.weights, *device_, request, verdicts, out));
  for (const std::string& note : verdicts->notes()) add_note(note);
  return {};
}

Status GpuBackend::audit(const AuditRequest& request, AuditReport* out) {
  return run_audit(model_, layout_.program, layout_.weights, *device_, request, out);
}

Status GpuBackend::run_segment(const Segment& segment) {
  if (!segment.on_gpu) {
    using Clock = std::chrono::steady_clock;
    for (size_t s : segment.steps) {
      const size_t op = static_cast<size_t>(layout_.program.steps[s].operators[0]);
      const auto start = Clock::now();
      FERRY_TRY(layout_.cpu_ops[op]->run(pool_));
      if (!microseconds_.empty())
        microseconds_[op] = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    }
    return {};
  }
  FERRY_TRY(layout_.transfer.flush());
  FERRY_TRY(segment.commands->submit());
  FERRY_TRY(segment.commands->wait());
  FERRY_TRY(layout_.transfer.invalidate());
  return read_times(segment);
}

Status GpuBackend::read_times(const Segment& segment) {
  if (microseconds_.empty()) return {};
  std::span<const double> nanoseconds;
  FERRY_TRY(segment.commands->timestamps(&nanoseconds));
  for (size_t i = 0; i + 1 < nanoseconds.size(); ++i) {
    const Step& step = layout_.program.steps[segment.timed[i]];
    microseconds_[static_cast<size_t>(step.operators.back())] = (nanoseconds[i + 1] - nanoseconds[i]) / 1000;
  }
  return {};
}

bool GpuBackend::bound() const {
  return std::any_of(layout_.bound.begin(), layout_.bound.end(),
                     [](const BufferRange& range) { return range.buffer != VK_NULL_HANDLE; });
}

Status GpuBackend::check_range(TensorId tensor, const BufferRange& range) const {
  const uint64_t bytes = host_bytes(layout_.program.shapes[tensor]);
  const uint64_t alignment = device_->info().properties.limits.minStorageBufferOffsetAlignment;
  if (options_.gpu == nullptr)
    return error(FERRY_INVALID_ARGUMENT, "the session was made without options.gpu: no buffer is of its device");
  if (range.bytes < bytes)
    return error(FERRY_INVALID_ARGUMENT, "a range of %" PRIu64 " bytes is too short: the tensor has %" PRIu64,
                 range.bytes, bytes);
  if (range.offset % alignment != 0)
    return error(FERRY_INVALID_ARGUMENT, "the range begins at %" PRIu64 ": GPU '%s' requires a multiple of %" PRIu64,
                 range.offset, device_->info().properties.deviceName, alignment);
  return check_reach(tensor);
}

// Whether only kernels read or write the tensor.
Status GpuBackend::check_reach(TensorId tensor) const {
  if (options_.states != nullptr) return error(FERRY_UNSUPPORTED, "the graph has states: it is run from host memory");
  for (const Step& step : layout_.program.steps) {
    const bool reads = std::find(step.inputs.begin(), step.inputs.end(), tensor) != step.inputs.end();
    const auto& further = step.further_outputs;
    const bool writes = step.output == tensor || std::find(further.begin(), further.end(), tensor) != further.end();
    if (!step.on_gpu && (reads || writes))
      return error(FERRY_UNSUPPORTED, "operator '%s' runs on the CPU, which does not reach the buffer",
                   operator_at(model_, step.operators.back()).name()->c_str());
  }
  bool input = false;
  for (const fbs::Port* port : *model_.graph().inputs()) input |= port->tensor() == tensor;
  if (layout_.device.offsets[tensor] == kNoOffset || (input && kept_[tensor]))
    return error(FERRY_UNSUPPORTED, "no operator computes between the buffer and the network's other side");
  return {};
}

// The upload and download kernels access the application's buffers instead of the transfer buffer.
Status GpuBackend::bind(TensorId tensor, const BufferRange& range) {
  if (range.buffer != VK_NULL_HANDLE) FERRY_TRY(check_range(tensor, range));
  return set_range(tensor, range);
}

Status GpuBackend::set_range(TensorId tensor, const BufferRange& range) {
  const BufferRange former = layout_.bound[tensor];
  layout_.bound[tensor] = range;
  layout_.bound[tensor].bytes = host_bytes(layout_.program.shapes[tensor]);
  if (device_->lost()) return {};  // nothing will be recorded on it any more
  std::vector<Segment> segments = std::move(layout_.segments);
  layout_.segments.clear();
  Status status = record(&layout_);
  if (status.ok()) return status;
  layout_.bound[tensor] = former;
  layout_.segments = std::move(segments);
  return status;
}

Status GpuBackend::import(const MemorySource& source, std::shared_ptr<const DeviceMemory>* out) {
  Buffer buffer;
  FERRY_TRY(device_->import(source, &buffer));
  *out = std::make_shared<ImportedMemory>(std::move(buffer), source.bytes, source.kind != MemorySource::Kind::Host);
  return {};
}

Status GpuBackend::take_frame(TensorId tensor, const image::Frame& frame, const image::Conversion& conversion) {
  if (!static_cast<const ImportedMemory&>(*frame.memory).belongs_to(*device_))
    return error(FERRY_INVALID_ARGUMENT, "frame.gpu_memory was imported by a session on another GPU");
  FERRY_TRY(check_reach(tensor));
  if (!frames_) frames_.emplace(device_);
  if (!frames_->is_ready_for(conversion)) FERRY_TRY(leave_frame(tensor));
  FERRY_TRY(frames_->read(frame, conversion));
  const BufferRange result = frames_->result();
  return layout_.bound[tensor].buffer == result.buffer ? Status() : set_range(tensor, result);
}

Status GpuBackend::leave_frame(TensorId tensor) {
  const bool reads = frames_ && layout_.bound[tensor].buffer != VK_NULL_HANDLE &&
                     layout_.bound[tensor].buffer == frames_->result().buffer;
  return reads ? set_range(tensor, {}) : Status();
}

Status GpuBackend::submit(const VkSubmitInfo& batch, VkFence fence) {
  for (const Step& step : layout_.program.steps)
    if (!step.on_gpu)
      return error(FERRY_UNSUPPORTED, "operator '%s' runs on the CPU: such a run cannot be submitted",
                   operator_at(model_, step.operators.back()).name()->c_str());
  if (options_.states != nullptr) return error(FERRY_UNSUPPORTED, "the graph has states: it is run from host memory");
  if (layout_.segments.size() != 1) return error(FERRY_UNSUPPORTED, "the network has no operator to submit");
  copy_inputs();
  FERRY_TRY(layout_.transfer.flush());
  Commands& commands = *layout_.segments[0].commands;
  Status status = commands.submit(batch, fence);
  submitted_ = commands.pending();
  return status;
}

Status GpuBackend::finish() {
  if (!submitted_) return {};
  submitted_ = false;
  FERRY_TRY(layout_.segments[0].commands->wait());
  FERRY_TRY(layout_.transfer.invalidate());
  FERRY_TRY(read_times(layout_.segments[0]));
  copy_results();
  return {};
}

}  // namespace

Interop* interop_of(Backend& backend) {
  return backend.report().backend == FERRY_BACKEND_GPU ? static_cast<GpuBackend*>(&backend) : nullptr;
}

Status create_backend(const Model& model, const SessionOptions& options, const std::vector<uint8_t>& kept_taps,
                      Pool* pool, std::unique_ptr<Backend>* out) {
  auto backend = std::make_unique<GpuBackend>(model, options, pool);
  FERRY_TRY(backend->create(kept_taps));
  *out = std::move(backend);
  return {};
}

}  // namespace ferry::gpu
