#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "sdk/gpu/lowering/op.h"
#include "sdk/operators/operators.h"

namespace ferry::gpu {
namespace {

constexpr size_t kEpilogueWords = 12;  // EPILOGUE_PUSH

// Bytes of a whole operand.
uint64_t operand_bytes(const Operand& operand, const Problem& problem, const std::vector<Region>& weights) {
  switch (operand.kind) {
    case Operand::Kind::None: return 0;
    case Operand::Kind::Weights: return weights[operand.region].quads() * quad_bytes(problem.storage);
    case Operand::Kind::Workspace: return operand.bytes;
    case Operand::Kind::Value:
    case Operand::Kind::State:
    case Operand::Kind::Host: break;
  }
  return operand.bytes;
}

}  // namespace

void WordList::append(std::span<const uint32_t> words) {
  std::copy(words.begin(), words.end(), words_.begin() + static_cast<std::ptrdiff_t>(count_));
  count_ += words.size();
}

Operand Lowering::input(unsigned i) {
  const Shape& shape = problem_.inputs[i];
  if (problem_.is_constant[i]) {
    const Rows rows = rows_of(shape);
    return weights({{pack_rows(problem_.input_tensor(i), rows.rows, rows.channels)}});
  }
  Operand operand = Operand::value(problem_.input_tensor(i));
  operand.bytes = stored_bytes(shape, problem_.storage);
  return operand;
}

Operand Lowering::workspace(uint64_t bytes) {
  const uint64_t alignment = problem_.limits.offset_alignment;
  const uint64_t offset = aligned(step_->workspace, alignment);
  step_->workspace = offset + bytes;
  return Operand::workspace(offset, bytes);
}

Operand Lowering::weights(Region region) {
  for (size_t i = 0; i < weights_->size(); ++i)
    if ((*weights_)[i] == region) return Operand::weights(i);
  weights_->push_back(std::move(region));
  return Operand::weights(weights_->size() - 1);
}

Operand Lowering::state() const {
  return {.kind = Operand::Kind::State,
          .region = state_of(problem_.op),
          .bytes = static_cast<uint64_t>(problem_.state.elements()) * sizeof(float)};
}

void Lowering::add(const Call& call) {
  Dispatch dispatch;
  dispatch.variant = {.kernel = call.kernel, .storage = problem_.storage};
  std::copy(call.workgroup.begin(), call.workgroup.end(), dispatch.variant.constants.begin());
  const std::span<const uint32_t> constants = call.constants, push = call.push;
  std::copy(constants.begin(), constants.end(), dispatch.variant.constants.begin() + 3);
  dispatch.variant.count = static_cast<uint8_t>(3 + constants.size());
  dispatch.groups = call.groups;
  std::copy(push.begin(), push.end(), dispatch.push.begin());
  dispatch.bindings = {call.output, call.input, call.weights, call.operand};
  if (dispatch.bindings[0].kind == Operand::Kind::None) {
    dispatch.bindings[0] = Operand::value(problem_.output_tensor);
    dispatch.bindings[0].bytes = stored_bytes(problem_.output, problem_.storage);
  }
  if (dispatch.bindings[1].kind == Operand::Kind::None) dispatch.bindings[1] = input(0);
  for (size_t i = 1; i < kBindings; ++i) {
    dispatch.work.read += operand_bytes(dispatch.bindings[i], problem_, *weights_);
  }
  dispatch.work.written = call.written != 0 ? call.written : operand_bytes(dispatch.bindings[0], problem_, *weights_);
  dispatch.work.flops = call.flops;
  step_->dispatches.push_back(dispatch);
}

Status Lowering::add_with_epilogue(Call call, Region region, float min, float max) {
  Epilogue epilogue;
  bool fits = epilogue.add_clamp(min, max);
  for (const EpilogueStep& step : problem_.epilogue.steps) fits = fits && epilogue.add(step);
  if (!fits) return unsupported("more than %zu elementwise steps", kMaxEpilogueSteps);

  const Rows rows = rows_of(problem_.output);
  std::array<uint32_t, kEpilogueWords> push{};
  std::array<uint32_t, kMaxEpilogueSteps> constants{};
  push[8] = rows.channels;
  push[9] = rows.quads();
  push[10] = static_cast<uint32_t>(region.quads());
  push[11] = 1;
  for (size_t i = 0; i < epilogue.steps.size(); ++i) {
    const EpilogueStep& step = epilogue.steps[i];
    constants[i] = step.constant();
    push[2 * i] = std::bit_cast<uint32_t>(step.alpha);
    push[2 * i + 1] = std::bit_cast<uint32_t>(step.beta);
    if (step.source == EpilogueStep::Source::Vector) {
      region.pieces.push_back(pack_rows(step.tensor, 1, rows.channels, step.repeat));
    }
    if (step.source == EpilogueStep::Source::Tensor) {
      if (step.tensor != TensorId::None) {
        call.operand = Operand::value(step.tensor);
        call.operand.bytes = uint64_t{rows.total()} / step.rows * quad_bytes(problem_.storage);
      }
      push[11] = step.rows;
    }
  }
  const WordList own_constants = std::exchange(call.constants, {}), own_push = std::exchange(call.push, {});
  call.constants.append(constants);
  call.constants.append(own_constants);
  call.push.append(push);
  call.push.append(own_push);
  if (!region.pieces.empty()) call.weights = weights(std::move(region));
  call.flops += uint64_t{rows.rows} * rows.channels * epilogue.steps.size();
  add(call);
  return {};
}

// ---- pieces of weights ----------------------------------------------------------------------------------------------

namespace {

// Push constants of shaders/pack.comp, in its order.
struct PackPush {
  uint32_t quads = 0, output_offset = 0, input_offset = 0;
  uint32_t size_b = 1, size_c = 1, size_d = 1;
  uint32_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0, stride_lane = 0;
  uint32_t lane_limit = 0, lane_of = 3;
  uint32_t inner_limit = 0, inner_of = 4, inner_lane_of = 4;
};

Piece piece(Kernel kernel, TensorId tensor, PackPush push, uint64_t outer, uint64_t outer_elements) {
  Piece p{.kernel = kernel, .tensor = tensor};
  p.outer_quads = uint64_t{push.size_b} * push.size_c * push.size_d;
  p.quads = outer * p.outer_quads;
  p.outer_elements = outer_elements;
  push.quads = static_cast<uint32_t>(p.quads);
  static_assert(sizeof(PackPush) <= sizeof(p.push));
  std::memcpy(p.push.data(), &push, sizeof push);
  return p;
}

constexpr uint32_t quads_of(uint32_t n) { return (n + 3) / 4; }

// [O][K][I] as quads over four outputs.
PackPush outputs_push(uint32_t outputs, uint32_t taps, uint32_t inputs) {
  PackPush push;
  push.size_b = taps;
  push.size_c = quads_of(inputs);
  push.size_d = 4;
  push.stride_a = 4 * taps * inputs;
  push.stride_b = inputs;
  push.stride_c = 4;
  push.stride_d = 1;
  push.stride_lane = taps * inputs;
  push.lane_limit = outputs;
  push.lane_of = 0;
  push.inner_limit = inputs;
  push.inner_of = 2;
  push.inner_lane_of = 3;
  return push;
}

// A piece whose elements have `bits` bits, in quads of the storage's size. Its runs must be whole quads.
Piece in_bits(Piece p, uint32_t bits, Storage storage) {
  for (uint64_t* quads : {&p.quads, &p.outer_quads}) *quads = *quads * 4 * bits / (8 * quad_bytes(storage));
  return p;
}

}  // namespace

Piece pack_rows(TensorId tensor, uint32_t rows, uint32_t length, bool repeat) {
  PackPush push;
  push.size_d = quads_of(length);
  push.stride_a = repeat ? 0 : length;
  push.stride_d = repeat ? 0 : 4;
  push.stride_lane = repeat ? 0 : 1;
  push.lane_limit = length;
  push.lane_of = 3;
  return piece(Kernel::Pack, tensor, push, rows, push.stride_a);
}

Piece pack_outputs(TensorId tensor, uint32_t outputs, uint32_t taps, uint32_t inputs) {
  const PackPush push = outputs_push(outputs, taps, inputs);
  return piece(Kernel::Pack, tensor, push, quads_of(outputs), push.stride_a);
}

Piece pack_integers(TensorId tensor, uint32_t outputs, uint32_t inputs, fbs::DType dtype, Storage storage) {
  const PackPush push = outputs_push(outputs, 1, inputs);
  return in_bits(piece(Kernel::PackQuantized, tensor, push, quads_of(outputs), push.stride_a), bits_of(dtype), storage);
}

Piece pack_scales(TensorId tensor, uint32_t outputs, uint32_t blocks, bool repeat, Storage storage) {
  PackPush push;
  push.size_d = blocks;
  push.stride_a = repeat ? 0 : 4 * blocks;
  push.stride_d = repeat ? 0 : 1;
  push.stride_lane = repeat ? 0 : blocks;
  push.lane_limit = outputs;
  push.lane_of = 0;
  return in_bits(piece(Kernel::PackQuantized, tensor, push, quads_of(outputs), push.stride_a), 32, storage);
}

Piece pack_winograd(TensorId tensor, uint32_t outputs, uint32_t inputs, uint32_t points) {
  PackPush push = outputs_push(outputs, 9, inputs);
  push.size_b = points;
  return piece(Kernel::WinogradPack, tensor, push, quads_of(outputs), push.stride_a);
}

Piece pack_depthwise(TensorId tensor, uint32_t channels, uint32_t taps) {
  PackPush push;
  push.size_d = quads_of(channels);
  push.stride_a = 1;
  push.stride_d = 4 * taps;
  push.stride_lane = taps;
  push.lane_limit = channels;
  push.lane_of = 3;
  return piece(Kernel::Pack, tensor, push, taps, 0);
}

}  // namespace ferry::gpu
