#include "sdk/gpu/lowering/partition.h"

#include <algorithm>
#include <cstdio>

#include "sdk/gpu/device/pipelines.h"
#include "sdk/operators/operators.h"

namespace ferry::gpu {
namespace {

std::vector<Shape> input_shapes(const fbs::Operator& op, const Shapes& shapes) {
  std::vector<Shape> out;
  for (TensorId tensor : *op.inputs()) out.push_back(shapes[tensor]);
  return out;
}

std::vector<bool> constant_inputs(const Model& model, const fbs::Operator& op) {
  std::vector<bool> out;
  for (TensorId tensor : *op.inputs()) out.push_back(model.is_constant(tensor));
  return out;
}

std::vector<Type> input_types(const Model& model, const fbs::Operator& op) {
  std::vector<Type> out;
  for (TensorId tensor : *op.inputs()) out.push_back(type_of(model.tensor(tensor)));
  return out;
}

// Whether a reshape keeps the quads: rows keep their length, or have no padding. Constants have no quads.
bool is_view(const Model& model, const fbs::Operator& op, const Shapes& shapes) {
  if (op.params_type() != fbs::OpParams::Reshape || model.is_constant(op.inputs()->Get(0))) return false;
  const Rows from = rows_of(shapes[op.inputs()->Get(0)]);
  const Rows to = rows_of(shapes[output_of(op)]);
  return from.channels == to.channels || (from.channels % 4 == 0 && to.channels % 4 == 0);
}

constexpr ferry_status kDenied = FERRY_GPU_UNAVAILABLE;  // the device or its driver denies it

Status fits_limits(const Step& step, const Program& program, const Limits& limits) {
  for (const Dispatch& dispatch : step.dispatches) {
    for (const Operand& operand : dispatch.bindings) {
      uint64_t bytes = operand.bytes;
      if (operand.kind == Operand::Kind::Weights)
        bytes = program.weights[operand.region].quads() * quad_bytes(program.storage);
      if (bytes / quad_bytes(program.storage) >= uint64_t{1} << 29)
        return error(kDenied, "an operand of %llu bytes; kernels count 2^31 elements",
                     static_cast<unsigned long long>(bytes));
      if (bytes > limits.storage_range)
        return error(kDenied, "an operand of %llu bytes; the device binds %llu", static_cast<unsigned long long>(bytes),
                     static_cast<unsigned long long>(limits.storage_range));
    }
    const auto& size = dispatch.variant.constants;
    if (size[0] > limits.workgroup_size[0] || size[1] > limits.workgroup_size[1] ||
        size[2] > limits.workgroup_size[2] || size[0] * size[1] * size[2] > limits.invocations)
      return error(kDenied, "a workgroup of %u x %u x %u; the device allows %u invocations", size[0], size[1], size[2],
                   limits.invocations);
    for (size_t i = 0; i < 3; ++i)
      if (dispatch.groups[i] > limits.workgroup_count[i])
        return error(kDenied, "%u workgroups; the device allows %u", dispatch.groups[i], limits.workgroup_count[i]);
  }
  return {};
}

// The chain's activations in the order of their first use, and those whose memory its output may reuse.
void list_inputs(const Model& model, const Chain& chain, const Shapes& shapes, Step* step) {
  std::vector<TensorId> inside;
  for (int index : chain.operators) inside.push_back(output_of(operator_at(model, index)));
  const auto add = [&](TensorId tensor) {
    if (model.is_constant(tensor) || std::find(inside.begin(), inside.end(), tensor) != inside.end()) return;
    if (std::find(step->inputs.begin(), step->inputs.end(), tensor) == step->inputs.end())
      step->inputs.push_back(tensor);
  };
  for (int index : chain.operators)
    for (TensorId tensor : *operator_at(model, index).inputs()) add(tensor);

  // An invocation reads only its own quad of these, before it writes it.
  const bool elementwise = traits(operator_at(model, chain.operators.front()).params_type()).elementwise;
  const Shape& output = shapes[inside.back()];
  const auto own = [&](TensorId tensor) { return shapes[tensor] == output; };
  for (TensorId tensor : step->inputs) {
    if (!own(tensor)) continue;
    bool read_by_root = false;
    for (TensorId input : *operator_at(model, chain.operators.front()).inputs()) read_by_root |= input == tensor;
    if (elementwise || !read_by_root) step->reusable.push_back(tensor);
  }
}

}  // namespace

bool ride(const Model& model, const Shapes& shapes, int next, Chain* chain) {
  const TensorId value = output_of(operator_at(model, chain->operators.back()));
  const fbs::Operator& op = operator_at(model, next);
  const unsigned side = op.inputs()->size() == 2 && op.inputs()->Get(1) == value ? 1 : 0;
  const Shape& output = shapes[output_of(op)];
  if (shapes[value] != output || !may_ride(op) || !serves(op, input_types(model, op)).ok() ||
      !append(op, side, output, input_shapes(op, shapes), constant_inputs(model, op), &chain->epilogue))
    return false;
  chain->operators.push_back(next);
  return true;
}

std::vector<Chain> make_chains(const Model& model, const Shapes& shapes, const PerTensor<bool>& kept) {
  const auto& operators = *model.graph().operators();
  const int count = static_cast<int>(operators.size());
  PerTensor<int> readers(shapes.size(), 0), reader(shapes.size(), -1);
  for (int i = 0; i < count; ++i)
    for (TensorId tensor : *operator_at(model, i).inputs()) {
      ++readers[tensor];
      reader[tensor] = i;
    }

  std::vector<int> chain_of(operators.size(), -1);
  std::vector<Chain> chains;
  for (int i = 0; i < count; ++i) {
    if (chain_of[static_cast<size_t>(i)] >= 0) continue;
    Chain chain{{i}, {}};
    const bool grows = has_epilogue(operator_at(model, i).params_type());
    for (int last = i; grows;) {
      const TensorId value = output_of(operator_at(model, last));
      const int next = reader[value];
      if (kept[value] || readers[value] != 1 || chain_of[static_cast<size_t>(next)] >= 0) break;
      if (!ride(model, shapes, next, &chain)) break;
      last = next;
    }
    for (int index : chain.operators) chain_of[static_cast<size_t>(index)] = static_cast<int>(chains.size());
    chains.push_back(std::move(chain));
  }
  // A chain runs at the position of its last operator: by then the inputs of the fused operators are computed.
  std::vector<Chain> ordered;
  for (int i = 0; i < count; ++i) {
    Chain& chain = chains[static_cast<size_t>(chain_of[static_cast<size_t>(i)])];
    if (chain.operators.back() == i) ordered.push_back(std::move(chain));
  }
  return ordered;
}

Shape fixed_state(const Model& model, const fbs::Operator& op, const Shapes& shapes) {
  const auto input = [&](unsigned i) -> const Shape& { return shapes[op.inputs()->Get(i)]; };
  if (op.params_type() == fbs::OpParams::CausalConv1d) return {input(0)[0], input(1)[0] - 1, input(0)[2]};
  if (op.params_type() != fbs::OpParams::GatedDeltaRule) return {};
  const int32_t heads = input(3)[2], key_size = model.root().states()->Get(state_of(op))->shape()->Get(3);
  return {2, input(0)[0], heads, key_size, input(2)[2] / heads};
}

Problem problem_of(const Model& model, const Chain& chain, const Shapes& shapes, Storage storage,
                   const Limits& limits) {
  const fbs::Operator& root = operator_at(model, chain.operators.front());
  const TensorId last = output_of(operator_at(model, chain.operators.back()));
  std::vector<Type> types = input_types(model, root);
  const bool quantized = types.size() > 1 && types[1].quantized;
  const Shape scales = quantized ? shapes[types[1].scale] : Shape();
  return {root,
          input_shapes(root, shapes),
          std::move(types),
          scales,
          constant_inputs(model, root),
          shapes[last],
          last,
          fixed_state(model, root, shapes),
          chain.epilogue,
          storage,
          limits};
}

Status lower_by(const Problem& problem, int alternative, Program* program, Step* step) {
  const size_t weights = program->weights.size();
  Lowering lowering(problem, step, &program->weights);
  Status status = lower(problem, alternative, &lowering);
  if (status.ok()) status = fits_limits(*step, *program, problem.limits);
  if (!status.ok()) {
    step->dispatches.clear();
    step->workspace = 0;
    program->weights.erase(program->weights.begin() + static_cast<std::ptrdiff_t>(weights), program->weights.end());
    return status;
  }
  step->alternative = alternative;
  return {};
}

Status lower_chain(const Model& model, const Chain& chain, const Shapes& shapes, const Device& device, Program* program,
                   Step* step) {
  const Problem problem = problem_of(model, chain, shapes, program->storage, device.limits());
  step->operators = chain.operators;
  step->output = problem.output_tensor;
  const auto& outputs = *problem.op.outputs();
  for (unsigned i = 1; i < outputs.size(); ++i) step->further_outputs.push_back(outputs[i]);
  list_inputs(model, chain, shapes, step);
  FERRY_TRY(serves(problem.op, problem.types));
  if (is_view(model, problem.op, shapes)) {
    step->view = true;
    return {};
  }
  const int count = alternatives(problem.op.params_type());
  Status reason;
  const int tuned = device.pipelines().tuned(signature(model, chain, shapes, program->storage));
  for (int i = -1; i < count; ++i) {
    const int alternative = i < 0 ? tuned : i;
    if (alternative < 0 || alternative >= count) continue;
    Status status = lower_by(problem, alternative, program, step);
    for (const Dispatch& dispatch : step->dispatches) {
      if (!status.ok()) continue;
      if (device.pipelines().verdict(dispatch.variant) == Pipelines::Verdict::Wrong)
        status = error(kDenied, "this driver computes %s wrongly", to_string(dispatch.variant).c_str());
      else if (device.pipelines().wrong_at(dispatch.variant, dispatch.group_count()))
        status = error(kDenied, "this driver computes %s wrongly at this size", to_string(dispatch.variant).c_str());
    }
    if (status.ok()) return {};
    step->dispatches.clear();
    step->workspace = 0;
    if (reason.ok() || reason.code() != kDenied) reason = std::move(status);
  }
  return reason;
}

std::string signature(const Model& model, const Chain& chain, const Shapes& shapes, Storage storage) {
  const fbs::Operator& op = operator_at(model, chain.operators.front());
  std::string text = op_name(op.params_type());
  text += storage == Storage::Float16 ? " f16" : " f32";
  for (const Shape& shape : input_shapes(op, shapes)) text += " " + to_string(shape);
  for (const Type& type : input_types(model, op))
    if (type.quantized) text += std::string(" ") + EnumNameDType(type.dtype);
  text += " -> " + to_string(shapes[output_of(op)]);
  for (const EpilogueStep& step : chain.epilogue.steps) text += " +" + std::to_string(step.constant());
  return text;
}

Status lower_again(const Model& model, const Step& step, const Shapes& shapes, const Device& device, Program* program,
                   Step* out) {
  Chain chain{{step.operators[0]}, {}};
  for (size_t i = 1; i < step.operators.size(); ++i)
    if (!ride(model, shapes, step.operators[i], &chain)) return unsupported("an operator that can no longer be fused");
  return lower_chain(model, chain, shapes, device, program, out);
}

namespace {

// Expert choices follow from scores that may be close, and float16 would choose others. The CPU computes the path from
// the router's product to the choice.
void route_in_float32(const Model& model, std::vector<uint8_t>* on_cpu) {
  PerTensor<uint8_t> leads(model.graph().tensors()->size(), false);
  for (size_t i = on_cpu->size(); i-- > 0;) {
    const fbs::Operator& op = operator_at(model, static_cast<int>(i));
    const auto& inputs = *op.inputs();
    if (op.params_type() == fbs::OpParams::Experts) leads[inputs.Get(1)] = leads[inputs.Get(2)] = true;
    bool leading = false;
    for (TensorId output : *op.outputs()) leading |= leads[output] != 0;
    if (!leading) continue;
    (*on_cpu)[i] = true;
    for (TensorId input : inputs)
      if (!has_weight(op.params_type())) leads[input] = true;
  }
}

// The states that a step changes or reads.
std::vector<size_t> states_of(const Model& model, const Program& program, const Step& step) {
  std::vector<size_t> states;
  const auto add = [&](TensorId tensor) {
    if (program.state_of[tensor] >= 0) states.push_back(static_cast<size_t>(program.state_of[tensor]));
  };
  for (int index : step.operators) {
    const fbs::Operator& op = operator_at(model, index);
    if (changes_state(op.params_type())) states.push_back(state_of(op));
    for (TensorId tensor : *op.inputs()) add(tensor);
  }
  return states;
}

// Adds to `on_cpu` the operators whose state cannot be on the device because another of its operators is on the CPU.
// False: none were added.
bool leave_states(const Model& model, Program* program, std::vector<uint8_t>* on_cpu) {
  for (const fbs::Operator* op : *model.graph().operators()) {
    if (!changes_state(op->params_type())) continue;
    if (op->params_type() == fbs::OpParams::Append) program->state_of[output_of(*op)] = static_cast<int>(state_of(*op));
    program->device_states[state_of(*op)] = true;
  }
  for (const Step& step : program->steps)
    for (size_t state : states_of(model, *program, step))
      if (!step.on_gpu) program->device_states[state] = false;
  bool more = false;
  for (const Step& step : program->steps)
    for (size_t state : states_of(model, *program, step)) {
      if (!step.on_gpu || program->device_states[state]) continue;
      for (int index : step.operators) (*on_cpu)[static_cast<size_t>(index)] = true;
      more = true;
    }
  return more;
}

void lower_all(const Model& model, const std::vector<Chain>& chains, const std::vector<uint8_t>& on_cpu,
               const Device& device, Program* program) {
  for (const Chain& chain : chains) {
    // A fused operator is on the CPU only together with its chain.
    if (chain.operators.size() > 1 && !on_cpu[static_cast<size_t>(chain.operators[0])]) {
      Step step;
      if (lower_chain(model, chain, program->shapes, device, program, &step).ok()) {
        program->steps.push_back(std::move(step));
        continue;
      }
    }
    for (int index : chain.operators) {
      Step step;
      const size_t weights = program->weights.size();
      Status status = lower_chain(model, {{index}, {}}, program->shapes, device, program, &step);
      if (status.ok() && on_cpu[static_cast<size_t>(index)])
        status = unsupported("the CPU holds its state or computes its choice of experts");
      if (!status.ok()) {
        program->weights.erase(program->weights.begin() + static_cast<std::ptrdiff_t>(weights), program->weights.end());
        step.on_gpu = step.view = false;
        step.reason = status.message();
        step.reusable.clear();
        step.dispatches.clear();
        step.workspace = 0;
      }
      program->steps.push_back(std::move(step));
    }
  }
}

}  // namespace

Status make_program(const Model& model, const Shapes& shapes, const PerTensor<bool>& kept, const Device& device,
                    Storage storage, Program* out) {
  const auto* states = model.root().states();
  const std::vector<Chain> chains = make_chains(model, shapes, kept);
  std::vector<uint8_t> on_cpu(model.graph().operators()->size(), false);
  if (storage == Storage::Float16) route_in_float32(model, &on_cpu);
  for (;;) {
    Program program{.storage = storage, .shapes = shapes};
    program.state_of.assign(shapes.size(), -1);
    program.device_states.assign(states != nullptr ? states->size() : 0, false);
    lower_all(model, chains, on_cpu, device, &program);
    if (leave_states(model, &program, &on_cpu)) continue;
    *out = std::move(program);
    return {};
  }
}

Traffic traffic(const Model& model, const Program& program) {
  Traffic sum;
  const auto bytes = [&](TensorId tensor) { return stored_bytes(program.shapes[tensor], program.storage); };
  for (const fbs::Port* input : *model.graph().inputs()) sum.minimum += bytes(input->tensor());
  std::vector<bool> used(program.weights.size(), false);
  for (const Step& step : program.steps) {
    // Only the new part of a state's memory is written.
    const TensorId written = program.state_of[step.output] < 0 ? step.output : step.inputs[0];
    if (!step.view) sum.minimum += bytes(step.output) + bytes(written);
    for (const Dispatch& dispatch : step.dispatches) {
      sum.moved += dispatch.work.read + dispatch.work.written;
      sum.flops += dispatch.work.flops;
      const Operand& weights = dispatch.bindings[2];
      if (weights.kind == Operand::Kind::Weights) used[weights.region] = true;
    }
  }
  for (const fbs::Port* output : *model.graph().outputs()) sum.minimum -= bytes(output->tensor());
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) sum.minimum += program.weights[i].quads() * quad_bytes(program.storage);
  return sum;
}

}  // namespace ferry::gpu
