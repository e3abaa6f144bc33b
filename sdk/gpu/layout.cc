#include "sdk/gpu/layout.h"

#include <algorithm>
#include <cinttypes>

#include "sdk/gpu/partition.h"

namespace ferry::gpu {
namespace {

// Inputs, outputs and kept taps.
std::vector<TensorId> ports_of(const Model& model, const PerTensor<bool>& kept) {
  std::vector<TensorId> out;
  for (const fbs::Port* port : *model.graph().inputs()) out.push_back(port->tensor());
  for (const TensorId t : kept.ids())
    if (kept[t] && std::find(out.begin(), out.end(), t) == out.end() && !model.is_constant(t)) out.push_back(t);
  return out;
}

// workspaces: bytes of scratch memory, by step.
Status lower_cpu_ops(const Model& model, Pool* pool, Layout* layout, std::vector<uint64_t>* workspaces) {
  layout->cpu_ops.resize(model.graph().operators()->size());
  workspaces->assign(layout->program.steps.size(), 0);
  for (size_t s = 0; s < layout->program.steps.size(); ++s) {
    const Step& step = layout->program.steps[s];
    if (step.on_gpu) continue;
    const fbs::Operator& op = operator_at(model, step.operators[0]);
    std::unique_ptr<cpu::Op>& lowered = layout->cpu_ops[static_cast<size_t>(step.operators[0])];
    FERRY_TRY(cpu::initialize());
    FERRY_TRY(cpu::create_op(cpu::cpu_features(), model, op, &lowered));
    std::vector<Shape> inputs;
    for (TensorId tensor : *op.inputs()) inputs.push_back(layout->program.shapes[tensor]);
    size_t workspace = 0;
    FERRY_TRY(lowered->reshape(inputs, layout->program.shapes[step.output], pool, &workspace));
    (*workspaces)[s] = workspace;
  }
  return {};
}

}  // namespace

uint64_t memory_of(const Layout& layout) {
  uint64_t sum = 0;
  for (const uint64_t bytes : {layout.device.arena_bytes, layout.host.arena_bytes, layout.port_bytes})
    if (__builtin_add_overflow(sum, bytes, &sum)) return UINT64_MAX;
  return sum;
}

Status plan_layout(const Model& model, const PerTensor<bool>& kept, uint64_t offset_alignment,
                   const MemoryBudget* budget, Pool* pool, Layout* layout) {
  const Program& program = layout->program;
  const size_t tensors = program.shapes.size();
  PerTensor<bool> on_device(tensors, false), on_host(tensors, false);
  for (const Step& step : program.steps) {
    PerTensor<bool>& side = step.on_gpu ? on_device : on_host;
    for (TensorId tensor : step.inputs) side[tensor] = true;
    side[step.output] = true;
    for (TensorId tensor : step.further_outputs) side[tensor] = true;
  }
  const std::vector<TensorId> ports = ports_of(model, kept);
  for (TensorId tensor : ports) on_host[tensor] = true;

  std::vector<uint64_t> workspaces;
  FERRY_TRY(lower_cpu_ops(model, pool, layout, &workspaces));
  PlanRequest device{.alignment = offset_alignment};
  PlanRequest host{.alignment = std::max<uint64_t>(kAlignment, offset_alignment)};
  for (const TensorId t : program.shapes.ids()) {
    const bool constant = model.is_constant(t);
    device.bytes.push_back(on_device[t] && !constant ? stored_bytes(program.shapes[t], program.storage) : 0);
    host.bytes.push_back(on_host[t] && !constant ? host_bytes(program.shapes[t]) : 0);
  }
  // A value that comes from the host has its place in the arena from its first reader on.
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
    if (step.on_gpu) there[step.output] = true;
    device_step.push_back(device.steps.size());
    planned.reusable = step.reusable;
    planned.view = step.view && step.on_gpu;
    planned.workspace = step.on_gpu ? step.workspace : 0;
    device.steps.push_back(planned);
    planned.reusable.clear();
    planned.view = false;
    planned.workspace = step.on_gpu ? 0 : workspaces[s];
    host.steps.push_back(std::move(planned));
  }
  for (const fbs::Port* port : *model.graph().inputs()) host.inputs.push_back(port->tensor());
  for (TensorId tensor : ports) host.kept.push_back(tensor);
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

Status setup_cpu_ops(const Model& model, const Layout& layout) {
  const auto address = [&](TensorId tensor) -> void* {
    if (model.is_constant(tensor)) return const_cast<std::byte*>(model.constant(tensor).data());
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
