#include "sdk/gpu/canary/canary.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "sdk/gpu/backend/layout.h"
#include "sdk/gpu/canary/answers.h"
#include "sdk/gpu/canary/shapes.h"
#include "sdk/gpu/canary/values.h"
#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/device/pipelines.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/operators/operators.h"

namespace ferry::gpu {
namespace {

using Verdict = Pipelines::Verdict;

constexpr uint64_t kGuardBytes = 64;  // behind every tensor, in the same binding
// Everything is filled with it before: it is not a number, in both precisions, so what is not written or read from
// outside shows.
constexpr int kGuard = 0xff;

// ---- one canary -----------------------------------------------------------------------------------------------------

// Where a tensor lies: quads, and the host's floats.
struct Slot {
  uint64_t quads = 0, floats = 0;
};

struct Canary {
  Program program;          // shapes, regions of weights, one step
  std::set<Variant> needs;  // what it proves, packing and transfers among it
  size_t first_region = 0;
  std::map<TensorId, Slot> slots;
  uint64_t workspace = 0;
  std::map<TensorId, Array> values;  // of every tensor of the chain
  Array state;                       // of fixed size, before the run
  std::vector<double> next;          // and afterwards
  uint64_t state_at = 0;             // where it lies
  std::string wrong;                 // what was wrong

  const Step& step() const { return program.steps[0]; }
  const Shape& shape(TensorId tensor) const { return program.shapes[tensor]; }
};

bool same_variants(const Step& a, const Step& b) {
  return std::equal(a.dispatches.begin(), a.dispatches.end(), b.dispatches.begin(), b.dispatches.end(),
                    [](const Dispatch& x, const Dispatch& y) { return x.variant == y.variant; });
}

bool same_work(const Canary& a, const Canary& b) {
  return a.needs == b.needs && a.state.shape == b.state.shape &&
         std::equal(a.step().dispatches.begin(), a.step().dispatches.end(), b.step().dispatches.begin(),
                    b.step().dispatches.end(), [](const Dispatch& x, const Dispatch& y) {
                      return x.variant == y.variant && x.push == y.push && x.groups == y.groups;
                    });
}

// The same operators by the same variants at the shapes of out->program. False: they do not come to that.
bool lower_alike(const Model& model, const Step& real, const Limits& limits, Canary* out) {
  Chain chain{{real.operators[0]}, {}};
  for (size_t i = 1; i < real.operators.size(); ++i)
    if (!ride(model, out->program.shapes, real.operators[i], &chain)) return false;
  const Problem problem = problem_of(model, chain, out->program.shapes, out->program.storage, limits);
  out->state.shape = problem.state;
  const int count = alternatives(problem.op.params_type());
  for (int i = -1; i < count; ++i) {  // the first may choose by size
    Step step;
    out->program.weights.clear();
    if (!lower_by(problem, i < 0 ? real.alternative : i, &out->program, &step).ok() || !same_variants(step, real))
      continue;
    step.operators = real.operators;
    step.inputs = real.inputs;
    step.output = real.output;
    step.further_outputs = real.further_outputs;
    out->program.steps = {std::move(step)};
    return true;
  }
  return false;
}

// False: no small size leads to these variants. Then the real one must do, where it is not too large.
bool find_size(const Model& model, const Program& program, const Step& real, const Limits& limits, Canary* out) {
  out->program.storage = program.storage;
  for (int size = 0; size < kCanarySizes; ++size) {
    out->program.shapes = program.shapes;
    if (shrink(model, real.operators, size, &out->program.shapes) && lower_alike(model, real, limits, out)) return true;
  }
  constexpr uint64_t kMaximum = uint64_t{1} << 26;
  Work work;
  for (const Dispatch& dispatch : real.dispatches) {
    work.flops += dispatch.work.flops;
    work.read += dispatch.work.read;
    work.written += dispatch.work.written;
  }
  out->program.shapes = program.shapes;
  return work.flops + work.read + work.written <= kMaximum && lower_alike(model, real, limits, out);
}

std::set<Variant> needs(const Model& model, const Step& step, const std::vector<Region>& weights, Storage storage,
                        const Limits& limits) {
  std::set<Variant> out;
  for (TensorId tensor : outputs_of(step))
    out.insert(transfer(Kernel::Download, tensor, {1}, storage, limits, model.tensor(tensor).dtype()).variant);
  for (TensorId tensor : step.inputs)
    out.insert(transfer(Kernel::Upload, tensor, {1}, storage, limits, model.tensor(tensor).dtype()).variant);
  for (const Dispatch& dispatch : step.dispatches) {
    out.insert(dispatch.variant);
    for (const Operand& operand : dispatch.bindings) {
      if (operand.kind != Operand::Kind::Weights) continue;
      for (const Piece& piece : weights[operand.region].pieces)
        out.insert(packer(piece, storage, model.tensor(piece.tensor).dtype()));
    }
  }
  return out;
}

// Constants and inputs of the chain.
void make_up(const Model& model, Canary* canary, MadeUpConstants* constants) {
  const bool positive = wants_positive(model, canary->step().operators);
  const fbs::Operator& root = operator_at(model, canary->step().operators[0]);
  for (int index : canary->step().operators) {
    const fbs::Operator& op = operator_at(model, index);
    for (unsigned i = 0; i < op.inputs()->size(); ++i) {
      const TensorId tensor = op.inputs()->Get(i);
      const Shape& shape = canary->shape(tensor);
      if (!model.is_constant(tensor)) continue;
      // Sums of several, to reach both sides of an activation.
      const bool weight = is_weight(op.params_type(), i), stacked = op.params_type() == fbs::OpParams::Experts;
      const int32_t sums = std::max(shape[0], 1) * (weight && stacked ? shape[1] : 1);
      const float products = static_cast<float>(shape.elements()) / static_cast<float>(sums);
      const float scale = weight ? std::exp2(std::round(std::log2(6 / std::sqrt(products)))) : 1;
      const Type type = type_of(model.tensor(tensor));
      constants->add(tensor, shape.elements(), scale, positive);
      if (!type.quantized) continue;
      constants->add(type.scale, canary->shape(type.scale).elements(),
                     scale / static_cast<float>(1 << (bits_of(type.dtype) - 1)), positive);
    }
  }
  for (TensorId tensor : canary->step().inputs)
    canary->values[tensor] = made_up_input(root, tensor, canary->shape(tensor), positive);
  if (canary->state.shape.rank > 0) canary->state = made_up_input(root, TensorId::None, canary->state.shape, false);
}

// The known answers: every tensor of the chain, and what its state holds afterwards.
void compute(const Model& model, const MadeUpConstants& constants, Canary* canary) {
  for (int index : canary->step().operators) {
    const fbs::Operator& op = operator_at(model, index);
    std::vector<const Array*> operands;
    for (TensorId tensor : *op.inputs()) {
      if (model.is_constant(tensor)) canary->values[tensor] = constants.array(tensor, canary->shape(tensor));
      operands.push_back(&canary->values[tensor]);
    }
    if (names_state(op.params_type())) operands.push_back(&canary->state);  // empty where append is the operator
    std::vector<Array> outputs;
    for (TensorId output : *op.outputs()) outputs.push_back({canary->shape(output), {}});
    reference::fill_outputs(answers_of(op.params_type()), op, operands, outputs);
    if (names_state(op.params_type()) && canary->state.shape.rank > 0)
      canary->next = reference::state_after(op, operands, outputs[0]);
    for (unsigned i = 0; i < outputs.size(); ++i) canary->values[op.outputs()->Get(i)] = std::move(outputs[i]);
  }
}

// Assigns every tensor a range from *end on.
void lay_out(uint64_t alignment, uint64_t* end, Canary* canary) {
  const auto take = [&](uint64_t bytes) {
    const uint64_t begin = *end;
    *end = aligned(begin + bytes + kGuardBytes, alignment);
    return begin;
  };
  std::vector<TensorId> tensors = canary->step().inputs;
  for (TensorId tensor : outputs_of(canary->step())) tensors.push_back(tensor);
  for (TensorId tensor : tensors) {
    const Shape& shape = canary->shape(tensor);
    canary->slots[tensor] = {take(stored_bytes(shape, canary->program.storage)), take(host_bytes(shape))};
  }
  canary->workspace = take(canary->step().workspace);
  canary->state_at = take(host_bytes(canary->state.shape));
}

BufferRange range_of(const Canary& canary, const Operand& operand, const Buffer& buffer,
                     std::span<const BufferRange> weights) {
  switch (operand.kind) {
    case Operand::Kind::None: return {};
    case Operand::Kind::State: return {buffer.handle(), canary.state_at, operand.bytes + kGuardBytes};
    case Operand::Kind::Weights: return weights[canary.first_region + operand.region];
    case Operand::Kind::Workspace: return {buffer.handle(), canary.workspace + operand.offset, operand.bytes};
    case Operand::Kind::Host: {
      const uint64_t bytes = host_bytes(canary.shape(operand.tensor));
      return {buffer.handle(), canary.slots.at(operand.tensor).floats, bytes + kGuardBytes};
    }
    case Operand::Kind::Value: break;
  }
  return {buffer.handle(), canary.slots.at(operand.tensor).quads,
          stored_bytes(canary.shape(operand.tensor), canary.program.storage) + kGuardBytes};
}

Status record(const Model& model, const Canary& canary, const Buffer& buffer, std::span<const BufferRange> weights,
              const Limits& limits, Commands* commands) {
  const auto dispatch = [&](const Dispatch& d) {
    std::array<BufferRange, kBindings> ranges;
    for (size_t i = 0; i < kBindings; ++i) ranges[i] = range_of(canary, d.bindings[i], buffer, weights);
    return commands->dispatch(d, ranges);
  };
  const Storage storage = canary.program.storage;
  for (TensorId tensor : canary.step().inputs)
    FERRY_TRY(dispatch(
        transfer(Kernel::Upload, tensor, canary.shape(tensor), storage, limits, model.tensor(tensor).dtype())));
  for (const Dispatch& d : canary.step().dispatches) FERRY_TRY(dispatch(d));
  for (TensorId tensor : outputs_of(canary.step()))
    FERRY_TRY(dispatch(
        transfer(Kernel::Download, tensor, canary.shape(tensor), storage, limits, model.tensor(tensor).dtype())));
  return {};
}

bool is_guard(const std::byte* at) {
  return std::all_of(at, at + kGuardBytes, [](std::byte b) { return b == std::byte{kGuard}; });
}

// Are the lanes behind the last channel of every row zero?
bool is_padded(const std::byte* quads, const Shape& shape, Storage storage) {
  const Rows rows = rows_of(shape);
  const uint64_t lane = quad_bytes(storage) / 4, row = rows.quads() * quad_bytes(storage);
  for (uint64_t r = 0; r < rows.rows; ++r)
    for (uint64_t i = rows.channels * lane; i < row; ++i) {
      const std::byte sign{i % lane == lane - 1 ? uint8_t{0x80} : uint8_t{0}};
      if ((quads[r * row + i] & ~sign) != std::byte{0}) return false;
    }
  return true;
}

// What is wrong with numbers that are floats, or integers of 32 bits.
std::string compare(const std::vector<double>& expected, const std::byte* at, bool integers, float bound) {
  float worst = 0, largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const float known = static_cast<float>(expected[i]);
    if (!std::isfinite(known)) continue;
    uint32_t bits;
    std::memcpy(&bits, at + i * sizeof bits, sizeof bits);
    const float got = integers ? static_cast<float>(static_cast<int32_t>(bits)) : std::bit_cast<float>(bits);
    const float difference = std::abs(got - known);
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
    largest = std::max(largest, std::abs(known));
  }
  if (worst <= bound * largest) return "";
  char text[96];
  std::snprintf(text, sizeof text, "is wrong by %.3g of the largest value, where %.3g is allowed",
                static_cast<double>(worst / largest), static_cast<double>(bound));
  return text;
}

// What is wrong with the results in `memory`; "" if nothing is.
std::string judge(const Model& model, const Canary& canary, const std::byte* memory) {
  for (const auto& [tensor, slot] : canary.slots) {
    const Shape& shape = canary.shape(tensor);
    if (!is_guard(memory + slot.quads + stored_bytes(shape, canary.program.storage)) ||
        !is_guard(memory + slot.floats + host_bytes(shape)))
      return "writes behind its output";
    if (!is_padded(memory + slot.quads, shape, canary.program.storage))
      return "leaves something in the lanes that pad a row";
  }
  const float bound = canary.program.storage == Storage::Float16 ? kCanaryFloat16Bound : kCanaryBound;
  for (TensorId tensor : outputs_of(canary.step())) {
    const std::byte* floats = memory + canary.slots.at(tensor).floats;
    const bool integers = model.tensor(tensor).dtype() == fbs::DType::Int32;
    std::string wrong = compare(canary.values.at(tensor).values, floats, integers, bound);
    if (!wrong.empty()) return wrong;
  }
  if (canary.next.empty()) return "";
  if (!is_guard(memory + canary.state_at + host_bytes(canary.state.shape))) return "writes behind its state";
  return compare(canary.next, memory + canary.state_at, false, bound);
}

// Runs them all; fills in `wrong`.
Status run(const Model& model, Device& device, std::vector<Canary>* canaries) {
  const Limits& limits = device.limits();
  MadeUpConstants constants(model, limits.import_alignment);
  std::vector<Region> regions;
  uint64_t bytes = 0;
  size_t dispatches = 0;
  for (Canary& canary : *canaries) {
    make_up(model, &canary, &constants);
    canary.first_region = regions.size();
    regions.insert(regions.end(), canary.program.weights.begin(), canary.program.weights.end());
    lay_out(limits.offset_alignment, &bytes, &canary);
    dispatches += canary.step().inputs.size() + canary.step().dispatches.size() + outputs_of(canary.step()).size();
  }
  FERRY_TRY(constants.fill());
  Weights weights(device, canaries->front().program.storage);
  std::vector<BufferRange> ranges;
  FERRY_TRY(weights.pack(constants, regions, &ranges));
  Buffer buffer;
  FERRY_TRY(device.allocate(bytes, MemoryUse::Readback, &buffer));
  std::memset(buffer.mapped(), kGuard, bytes);
  Commands commands(device);
  FERRY_TRY(commands.begin(dispatches));
  for (const Canary& canary : *canaries) {
    for (TensorId tensor : canary.step().inputs) {
      const std::vector<double>& values = canary.values.at(tensor).values;
      std::byte* to = buffer.mapped() + canary.slots.at(tensor).floats;
      if (model.tensor(tensor).dtype() == fbs::DType::Int32) {
        std::copy(values.begin(), values.end(), reinterpret_cast<int32_t*>(to));
      } else {
        std::copy(values.begin(), values.end(), reinterpret_cast<float*>(to));
      }
    }
    std::copy(canary.state.values.begin(), canary.state.values.end(),
              reinterpret_cast<float*>(buffer.mapped() + canary.state_at));
    FERRY_TRY(record(model, canary, buffer, ranges, limits, &commands));
  }
  FERRY_TRY(commands.end());
  FERRY_TRY(buffer.flush());
  FERRY_TRY(commands.submit());
  for (Canary& canary : *canaries) compute(model, constants, &canary);  // while the device computes
  FERRY_TRY(commands.wait());
  FERRY_TRY(buffer.invalidate());
  for (Canary& canary : *canaries) canary.wrong = judge(model, canary, buffer.mapped());
  return {};
}

// ---- verdicts -------------------------------------------------------------------------------------------------------

void condemn(const Variant& variant, const char* why, Pipelines& pipelines, Canaries* out) {
  pipelines.set_verdict(variant, Verdict::Wrong);
  ++out->failures;
  out->notes.push_back("this driver's " + to_string(variant) + " " + why);
}

// What a right canary needed is right. Of a wrong one's dispatches those are to blame that no right one has.
void give_verdicts(const std::vector<Canary>& canaries, Pipelines& pipelines, Canaries* out) {
  for (const Canary& canary : canaries)
    if (canary.wrong.empty())
      for (const Variant& variant : canary.needs) pipelines.set_verdict(variant, Verdict::Right);
  for (const Canary& canary : canaries) {
    if (canary.wrong.empty()) continue;
    std::set<Variant> all, suspects;
    for (const Dispatch& dispatch : canary.step().dispatches) {
      all.insert(dispatch.variant);
      if (pipelines.verdict(dispatch.variant) != Verdict::Right) suspects.insert(dispatch.variant);
    }
    for (const Variant& variant : suspects.empty() ? all : suspects)
      if (pipelines.verdict(variant) != Verdict::Wrong) condemn(variant, canary.wrong.c_str(), pipelines, out);
  }
}

// Makes the program's pipelines. Those that cannot be made are condemned.
Status make_pipelines(const Program& program, Pipelines& pipelines, Canaries* out) {
  for (const Step& step : program.steps)
    for (const Dispatch& dispatch : step.dispatches) {
      VkPipeline pipeline = VK_NULL_HANDLE;
      if (pipelines.verdict(dispatch.variant) == Verdict::Wrong) continue;
      const Status status = pipelines.get(dispatch.variant, &pipeline);
      if (status.code() == FERRY_GPU_LOST || status.code() == FERRY_OUT_OF_MEMORY) return status;
      if (!status.ok())
        condemn(dispatch.variant, ("cannot be made: " + std::string(status.message())).c_str(), pipelines, out);
    }
  return {};
}

}  // namespace

Status run_canaries(const Model& model, const Program& program, Device& device, Canaries* out) {
  Pipelines& pipelines = device.pipelines();
  FERRY_TRY(make_pipelines(program, pipelines, out));
  if (out->failures > 0) return {};

  const auto start = std::chrono::steady_clock::now();
  std::vector<Canary> canaries;
  for (const Step& step : program.steps) {
    if (!step.on_gpu || step.view) continue;
    Canary canary;
    canary.needs = needs(model, step, program.weights, program.storage, device.limits());
    const auto unknown = [&](const Variant& variant) { return pipelines.verdict(variant) == Verdict::Unknown; };
    if (std::none_of(canary.needs.begin(), canary.needs.end(), unknown)) continue;
    if (!find_size(model, program, step, device.limits(), &canary)) {
      out->notes.push_back(to_string(step.dispatches[0].variant) + " was not tested: no small problem leads to it");
      continue;
    }
    const auto same = [&](const Canary& other) { return same_work(canary, other); };
    if (std::none_of(canaries.begin(), canaries.end(), same)) canaries.push_back(std::move(canary));
  }
  if (canaries.empty()) return {};
  FERRY_TRY(run(model, device, &canaries));
  give_verdicts(canaries, pipelines, out);
  out->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return {};
}

}  // namespace ferry::gpu
