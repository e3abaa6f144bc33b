#include "sdk/gpu/backend/layout.h"

#include <algorithm>
#include <cinttypes>

#include "sdk/gpu/lowering/partition.h"

namespace ferry::gpu {
namespace {

// Inputs, outputs and kept taps, except states, whose host memory holds the results of runs.
std::vector<TensorId> ports_of(const Model& model, const Program& program, const PerTensor<bool>& kept) {
  std::vector<TensorId> out;
  for (const fbs::Port* port : *model.graph().inputs()) out.push_back(port->tensor());
  for (const TensorId t : kept.ids())
    if (kept[t] && program.state_of[t] < 0 && std::find(out.begin(), out.end(), t) == out.end() &&
        !model.is_constant(t))
      out.push_back(t);
  return out;
}

Status lower_cpu_ops(const Model& model, const States* states, Pool* pool, Layout* layout) {
  layout->cpu_ops.resize(model.graph().operators()->size());
  layout->host_workspaces.assign(layout->program.steps.size(), 0);
  for (size_t s = 0; s < layout->program.steps.size(); ++s) {
    const Step& step = layout->program.steps[s];
    if (step.on_gpu) continue;
    const fbs::Operator& op = operator_at(model, step.operators[0]);
    std::unique_ptr<cpu::Op>& lowered = layout->cpu_ops[static_cast<size_t>(step.operators[0])];
    FERRY_TRY(cpu::initialize());
    FERRY_TRY(cpu::create_op(cpu::cpu_features(), model, op, &lowered));
    FERRY_TRY(
        reshape_cpu_op(model, step, layout->program.shapes, states, pool, lowered.get(), &layout->host_workspaces[s]));
  }
  return {};
}

}  // namespace

Status reshape_cpu_op(const Model& model, const Step& step, const Shapes& shapes, const States* states, Pool* pool,
                      cpu::Op* op, uint64_t* workspace) {
  std::vector<Shape> inputs;
  for (TensorId tensor : *operator_at(model, step.operators[0]).inputs()) inputs.push_back(shapes[tensor]);
  if (states != nullptr) op->set_states(*states);
  return op->reshape(inputs, shapes[step.output], pool, workspace);
}

uint64_t memory_of(const Layout& layout) {
  uint64_t sum = 0;
  for (const uint64_t bytes : {layout.device.arena_bytes, layout.host.arena_bytes, layout.port_bytes})
    if (__builtin_add_overflow(sum, bytes, &sum)) return UINT64_MAX;
  return sum;
}

Status plan_layout(const Model& model, const PerTensor<bool>& kept, uint64_t offset_alignment,
                   const MemoryBudget* budget, const States* states, Pool* pool, Layout* layout) {
  const Program& program = layout->program;
  const size_t tensors = program.shapes.size();
  PerTensor<bool> on_device(tensors, false), on_host(tensors, false);
  for (const Step& step : program.steps) {
    PerTensor<bool>& side = step.on_gpu ? on_device : on_host;
    for (TensorId tensor : step.inputs) side[tensor] = true;
    side[step.output] = true;
    for (TensorId tensor : step.further_outputs) side[tensor] = true;
  }
  const std::vector<TensorId> ports = ports_of(model, program, kept);
  for (TensorId tensor : ports) on_host[tensor] = true;
  std::vector<TensorId> appended;
  for (const Step& step : program.steps)
    if (appends_on_device(program, step)) appended.push_back(step.inputs[0]);
  for (TensorId tensor : appended) on_host[tensor] = true;

  FERRY_TRY(lower_cpu_ops(model, states, pool, layout));
  PlanRequest device{.alignment = offset_alignment};
  PlanRequest host{.alignment = std::max<uint64_t>(kAlignment, offset_alignment)};
  for (const TensorId t : program.shapes.ids()) {
    const bool planned = !model.is_constant(t) && program.state_of[t] < 0;
    device.bytes.push_back(on_device[t] && planned ? stored_bytes(program.shapes[t], program.storage) : 0);
    host.bytes.push_back(on_host[t] && planned ? host_bytes(program.shapes[t]) : 0);
  }
  // A value from the host is in the arena from its first reader on.
  PerTensor<bool> there(tensors, false);
  std::vector<size_t> device_step;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    PlanRequest::Step planned{.inputs = step.inputs, .outputs = {step.output}};
    planned.outputs.insert(planned.outputs.end(), step.further_outputs.begin(), step.further_outputs.end());
    for (TensorId tensor : step.inputs) {
      if (step.on_gpu && !there[tensor]) device.steps.push_back({.outputs = {tensor}});
      if (step.on_gpu) there[tensor] = true;
    }
    if (step.on_gpu)
      for (TensorId tensor : planned.outputs) there[tensor] = true;
    device_step.push_back(device.steps.size());
    planned.reusable = step.reusable;
    planned.view = step.view && step.on_gpu;
    planned.workspace = step.on_gpu ? step.workspace : 0;
    device.steps.push_back(planned);
    planned.reusable.clear();
    planned.view = false;
    planned.workspace = step.on_gpu ? 0 : layout->host_workspaces[s];
    host.steps.push_back(std::move(planned));
  }
  for (const fbs::Port* port : *model.graph().inputs()) host.inputs.push_back(port->tensor());
  host.kept = ports;
  host.kept.insert(host.kept.end(), appended.begin(), appended.end());
  layout->device = make_plan(device);
  for (size_t s : device_step) layout->device_workspaces.push_back(layout->device.workspaces[s]);
  layout->host = make_plan(host);
  layout->ports.assign(tensors, kNoOffset);
  for (TensorId tensor : ports) {
    layout->ports[tensor] = layout->port_bytes;
    layout->port_bytes += aligned(host.bytes[tensor] + kExtraBytes, kAlignment);
  }
  return budget != nullptr ? budget->check(MemoryBudget::Part::Activations, memory_of(*layout)) : Status();
}

Status setup_cpu_ops(const Model& model, const States* states, const Layout& layout) {
  const auto address = [&](TensorId tensor) -> void* {
    if (model.is_constant(tensor)) return const_cast<std::byte*>(model.constant(tensor).data());
    if (const int state = layout.program.state_of[tensor]; state >= 0) return states->data(static_cast<size_t>(state));
    return layout.transfer.mapped() + layout.host.offsets[tensor];
  };
  for (size_t s = 0; s < layout.program.steps.size(); ++s) {
    const Step& step = layout.program.steps[s];
    if (step.on_gpu) continue;
    std::vector<const void*> inputs;
    for (TensorId tensor : *operator_at(model, step.operators[0]).inputs()) inputs.push_back(address(tensor));
    const uint64_t workspace = layout.host.workspaces[s];
    void* scratch = workspace == kNoOffset ? nullptr : layout.transfer.mapped() + workspace;
    std::vector<void*> outputs = {address(step.output)};
    for (TensorId tensor : step.further_outputs) outputs.push_back(address(tensor));
    FERRY_TRY(layout.cpu_ops[static_cast<size_t>(step.operators[0])]->setup_outputs(inputs, outputs, scratch));
  }
  return {};
}

}  // namespace ferry::gpu
