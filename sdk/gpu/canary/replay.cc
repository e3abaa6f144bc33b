#include "sdk/gpu/canary/replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "sdk/gpu/backend/layout.h"
#include "sdk/gpu/canary/canary.h"
#include "sdk/gpu/canary/recomputation.h"
#include "sdk/gpu/canary/values.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/model/seeded.h"
#include "sdk/operators/operators.h"

namespace ferry::gpu {
namespace {

constexpr uint32_t kPoison = 0xffffffff;  // not a number in both precisions: what is not written differs
constexpr int kFirstRuns = 3;
constexpr uint64_t kMaxBatch = 32;
// Of a submission, so that no driver takes it for a hang: about 20 ms of a phone.
constexpr uint64_t kBatchWork = uint64_t{1} << 31;
constexpr uint64_t kWordsOfPart = 4096, kMaxParts = 256;
// Multiply-adds of the comparison with the CPU.
constexpr uint64_t kCpuWork = uint64_t{1} << 25;

uint64_t fnv(uint64_t hash, uint64_t number) {
  return fnv1a64({reinterpret_cast<const char*>(&number), sizeof number}, hash);
}

// `count` of `total`, one from each of as many equal parts; all where they are not more.
std::vector<uint32_t> spread_over(uint64_t total, uint64_t count) {
  std::vector<uint32_t> out;
  count = std::clamp<uint64_t>(count, 1, total);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = i * total / count, end = (i + 1) * total / count;
    const uint64_t hash = fnv(0xcbf29ce484222325u, i) >> 20;
    out.push_back(static_cast<uint32_t>(begin + hash % (end - begin)));
  }
  return out;
}

// The number of things that an index in an Int32 input counts: places along an axis, experts.
int32_t index_limit(const fbs::Operator& op, const Shapes& shapes) {
  if (const fbs::Gather* gather = op.params_as_Gather()) return shapes[op.inputs()->Get(0)][gather->axis()];
  if (const fbs::Scatter* scatter = op.params_as_Scatter()) return shapes[op.inputs()->Get(0)][scatter->axis()];
  if (op.params_type() == fbs::OpParams::Experts) return shapes[op.inputs()->Get(3)][0];
  return INT32_MAX;
}

}  // namespace

bool replayable(const Program& program, const Step& step) {
  if (!step.on_gpu || step.dispatches.empty()) return false;
  for (const TensorId tensor : outputs_of(step))
    if (program.state_of[tensor] >= 0 || program.shapes[tensor].elements() == 0) return false;
  for (const TensorId tensor : step.inputs)
    if (program.shapes[tensor].elements() == 0) return false;
  return true;
}

uint64_t work_id(const Step& step, const Shapes& shapes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const TensorId tensor : step.inputs)
    for (int i = 0; i < shapes[tensor].rank; ++i) hash = fnv(hash, static_cast<uint64_t>(shapes[tensor][i]));
  for (const Dispatch& dispatch : step.dispatches) {
    for (const char c : to_string(dispatch.variant)) hash = fnv(hash, static_cast<unsigned char>(c));
    for (const uint32_t groups : dispatch.groups) hash = fnv(hash, groups);
    for (const uint32_t word : dispatch.push) hash = fnv(hash, word);
  }
  return hash;
}

std::string step_in_words(const Model& model, const Step& step, const Shapes& shapes) {
  const fbs::Operator& first = operator_at(model, step.operators.front());
  std::string out = op_name(first.params_type());
  out += " " + to_string(shapes[step.output]);
  if (first.name() != nullptr && first.name()->size() > 0) out += " " + first.name()->str();
  return out;
}

const Replay::Slot& Replay::slot(TensorId tensor) const {
  return *std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.tensor == tensor; });
}

void Replay::lay_out() {
  const uint64_t alignment = device_.limits().offset_alignment;
  const auto take = [&](uint64_t bytes, uint64_t* end) {
    const uint64_t begin = *end;
    *end = aligned(begin + bytes, alignment);
    return begin;
  };
  const auto add = [&](TensorId tensor, bool output) {
    Slot slot{.tensor = tensor, .output = output};
    const Shape& shape = program_.shapes[tensor];
    slot.bytes = stored_bytes(shape, program_.storage);
    slot.quads = take(slot.bytes, &memory_bytes_);
    slot.element_bytes = host_bytes(shape);
    slot.elements = take(slot.element_bytes, &host_bytes_);
    if (output) {
      slot.expected = take(slot.bytes, &memory_bytes_);
      const uint64_t words = slot.bytes / 4;
      slot.parts = std::clamp<uint64_t>((words + kWordsOfPart - 1) / kWordsOfPart, 1, kMaxParts);
      slot.share = (words + slot.parts - 1) / slot.parts;
      slot.parts = (words + slot.share - 1) / slot.share;
      slot.first_count = counts_each_;
      counts_each_ += slot.parts;
    }
    slots_.push_back(slot);
  };
  for (const TensorId tensor : step_.inputs) add(tensor, false);
  for (const TensorId tensor : outputs_of(step_)) add(tensor, true);
  workspace_ = take(step_.workspace, &memory_bytes_);
  for (const Dispatch& dispatch : step_.dispatches)
    for (const Operand& operand : dispatch.bindings)
      if (operand.kind == Operand::Kind::State) state_bytes_ = std::max(state_bytes_, operand.bytes);
  state_ = take(state_bytes_, &memory_bytes_);
  first_state_ = take(state_bytes_, &memory_bytes_);
  uint64_t work = 1;
  for (const Dispatch& dispatch : step_.dispatches)
    work += dispatch.work.flops + dispatch.work.read + dispatch.work.written;
  batch_ = std::clamp<uint64_t>(kBatchWork / work, 1, kMaxBatch);
  counts_ = take(std::max<uint64_t>(batch_, 2) * counts_each_ * sizeof(uint32_t), &host_bytes_);
}

BufferRange Replay::range(const Operand& operand) const {
  switch (operand.kind) {
    case Operand::Kind::None: return {};
    case Operand::Kind::State: return {memory_.handle(), state_, operand.bytes};
    case Operand::Kind::Weights: return weights_[operand.region];
    case Operand::Kind::Workspace: return {memory_.handle(), workspace_ + operand.offset, operand.bytes};
    case Operand::Kind::Host: {
      const Slot& at = slot(operand.tensor);
      return {host_.handle(), at.elements, at.element_bytes};
    }
    case Operand::Kind::Value: break;
  }
  const Slot& at = slot(operand.tensor);
  return {memory_.handle(), at.quads, at.bytes};
}

// One run from a defined state of everything that it writes.
Status Replay::once(Commands* commands) const {
  for (const Slot& slot : slots_)
    if (slot.output) commands->fill({memory_.handle(), slot.quads, slot.bytes}, kPoison);
  if (state_bytes_ > 0)
    commands->copy({memory_.handle(), first_state_, state_bytes_}, {memory_.handle(), state_, state_bytes_});
  for (const Dispatch& dispatch : step_.dispatches) {
    std::array<BufferRange, kBindings> ranges;
    for (size_t i = 0; i < kBindings; ++i) ranges[i] = range(dispatch.bindings[i]);
    FERRY_TRY(commands->dispatch(dispatch, ranges));
  }
  return {};
}

// Compares every output; the counts are number `place` of a submission.
Status Replay::compare(uint64_t place, Commands* commands) const {
  for (const Slot& slot : slots_) {
    if (!slot.output) continue;
    Dispatch dispatch;
    dispatch.variant = {
        .kernel = Kernel::Compare, .storage = program_.storage, .count = 3, .constants = {kWorkgroup, 1, 1}};
    dispatch.groups = {static_cast<uint32_t>(slot.parts), 1, 1};
    dispatch.bindings[0].kind = dispatch.bindings[1].kind = dispatch.bindings[3].kind = Operand::Kind::Value;
    dispatch.push[0] = static_cast<uint32_t>(slot.bytes / 4);
    dispatch.push[1] = static_cast<uint32_t>(slot.share);
    dispatch.push[2] = static_cast<uint32_t>(place * counts_each_ + slot.first_count);
    const uint64_t all = std::max<uint64_t>(batch_, 2) * counts_each_ * sizeof(uint32_t);
    FERRY_TRY(commands->dispatch(
        dispatch, {BufferRange{host_.handle(), counts_, all}, BufferRange{memory_.handle(), slot.quads, slot.bytes},
                   BufferRange{}, BufferRange{memory_.handle(), slot.expected, slot.bytes}}));
  }
  return {};
}

// The run that others are compared with, and a proof that differences are seen: against the poison everything differs,
// against itself nothing.
Status Replay::prepare_first(Commands* commands, bool upload) const {
  const auto move = [&](Kernel kernel, const Slot& slot) {
    const Dispatch dispatch = transfer(kernel, slot.tensor, program_.shapes[slot.tensor], program_.storage,
                                       device_.limits(), model_.tensor(slot.tensor).dtype());
    std::array<BufferRange, kBindings> ranges;
    for (size_t i = 0; i < kBindings; ++i) ranges[i] = range(dispatch.bindings[i]);
    return commands->dispatch(dispatch, ranges);
  };
  for (const Slot& slot : slots_)
    if (upload && !slot.output) FERRY_TRY(move(Kernel::Upload, slot));
  if (upload && state_bytes_ > 0) commands->fill({memory_.handle(), first_state_, state_bytes_}, 0);
  for (const Slot& slot : slots_)
    if (slot.output) commands->fill({memory_.handle(), slot.expected, slot.bytes}, kPoison);
  FERRY_TRY(once(commands));
  FERRY_TRY(compare(0, commands));
  for (const Slot& slot : slots_)
    if (slot.output)
      commands->copy({memory_.handle(), slot.quads, slot.bytes}, {memory_.handle(), slot.expected, slot.bytes});
  FERRY_TRY(compare(1, commands));
  // What the host reads is what later runs are compared with, and the inputs as the device stores them.
  for (const Slot& slot : slots_) FERRY_TRY(move(Kernel::Download, slot));
  return commands->end();
}

void Replay::fill_inputs() {
  const bool positive = wants_positive(model_, step_.operators);
  const fbs::Operator& root = operator_at(model_, step_.operators[0]);
  for (const Slot& slot : slots_) {
    if (slot.output) continue;
    const Array made = made_up_input(root, slot.tensor, program_.shapes[slot.tensor], positive);
    std::byte* to = host_.mapped() + slot.elements;
    if (model_.tensor(slot.tensor).dtype() == fbs::DType::Int32) {
      const double limit = static_cast<double>(index_limit(root, program_.shapes));
      std::transform(made.values.begin(), made.values.end(), reinterpret_cast<int32_t*>(to),
                     [&](double value) { return static_cast<int32_t>(std::fmod(value, limit)); });
    } else {
      std::copy(made.values.begin(), made.values.end(), reinterpret_cast<float*>(to));
    }
  }
}

// The largest excess() of the values that the host has. Computes all of them where that is cheap, otherwise some of
// every part of the output.
double Replay::worst(bool* compared) const {
  const double bound = static_cast<double>(program_.storage == Storage::Float16 ? kCanaryFloat16Bound : kCanaryBound);
  const Recomputation cpu(model_, program_, step_, bound);
  *compared = cpu.possible();
  double worst = 0;
  const auto element = [&](TensorId tensor, uint64_t i) {
    const std::byte* at = host_.mapped() + slot(tensor).elements + i * 4;
    uint32_t bits;
    std::memcpy(&bits, at, sizeof bits);
    const bool integer = model_.tensor(tensor).dtype() == fbs::DType::Int32;
    return integer ? static_cast<float>(static_cast<int32_t>(bits)) : std::bit_cast<float>(bits);
  };
  if (cpu.possible() && cpu.by_rows()) {
    const Rows& rows = cpu.output();
    const uint64_t affordable = std::max<uint64_t>(kCpuWork / cpu.work(), 64);  // values, or rows
    const uint64_t total = cpu.per_row() ? rows.rows : uint64_t{rows.rows} * rows.channels;
    uint64_t row_count = rows.rows, channel_count = rows.channels;
    if (cpu.per_row()) {
      row_count = std::min<uint64_t>(row_count, affordable);
    } else if (total > affordable) {
      row_count = std::min<uint64_t>(rows.rows, std::max<uint64_t>(affordable / std::min(rows.channels, 64u), 8));
      channel_count = std::max<uint64_t>(affordable / row_count, 1);
    }
    const std::vector<uint32_t> channels = spread_over(rows.channels, channel_count);
    for (const uint32_t row : spread_over(rows.rows, row_count)) {
      RowValues inputs;
      for (const RowId& id : cpu.reads(row)) {
        std::vector<double>& values = inputs[id];
        const uint64_t length = rows_of(program_.shapes[id.tensor]).channels;
        for (uint64_t i = 0; i < length; ++i)
          values.push_back(static_cast<double>(element(id.tensor, id.row * length + i)));
      }
      const std::vector<Expected> expected = cpu.row(row, channels, inputs);
      for (size_t k = 0; k < channels.size(); ++k) {
        const float got = element(step_.output, uint64_t{row} * rows.channels + channels[k]);
        worst = std::max(worst, excess(expected[k], got, program_.storage));
      }
    }
  } else if (cpu.possible() && cpu.work() <= kCpuWork) {
    std::map<TensorId, std::vector<double>> inputs;
    for (const TensorId tensor : step_.inputs)
      for (uint64_t i = 0; i < slot(tensor).element_bytes / 4; ++i)
        inputs[tensor].push_back(static_cast<double>(element(tensor, i)));
    for (const auto& [tensor, values] : cpu.whole(inputs))
      for (size_t i = 0; i < values.size(); ++i)
        worst = std::max(worst, excess(values[i], element(tensor, i), program_.storage));
  } else {
    *compared = false;
  }
  return worst;
}

void Replay::check_with_cpu() {
  result_.error = worst(&result_.compared);
  result_.wrong.clear();
  if (result_.error <= 1) return;
  char text[96];
  std::snprintf(text, sizeof text, "is wrong by %.3g of what rounding explains", result_.error);
  result_.wrong = text;
}

Status Replay::begin(bool with_cpu) {
  lay_out();
  FERRY_TRY(device_.allocate(std::max<uint64_t>(memory_bytes_, kAlignment), MemoryUse::Device, &memory_));
  FERRY_TRY(device_.allocate(std::max<uint64_t>(host_bytes_, kAlignment), MemoryUse::Readback, &host_));
  fill_inputs();
  const size_t dispatches = step_.dispatches.size() + 4 * slots_.size();
  for (int attempt = 0; attempt < kFirstRuns; ++attempt) {
    Commands first(device_);
    FERRY_TRY(first.begin(dispatches));
    FERRY_TRY(prepare_first(&first, attempt == 0));
    FERRY_TRY(host_.flush());
    FERRY_TRY(first.submit());
    FERRY_TRY(first.wait());
    FERRY_TRY(host_.invalidate());
    const auto* counts = reinterpret_cast<const uint32_t*>(host_.mapped() + counts_);
    for (uint64_t i = 0; i < counts_each_; ++i)
      if (counts[i] == 0 || counts[counts_each_ + i] != 0)
        return error(FERRY_BACKEND_ERROR, "this driver's compare kernel does not tell equal results from others");
    ++result_.runs;
    result_.digest = 0xcbf29ce484222325u;
    for (const Slot& slot : slots_) {
      const std::byte* at = host_.mapped() + slot.elements;
      for (uint64_t i = 0; slot.output && i < slot.element_bytes; i += sizeof(uint32_t)) {
        uint32_t word;
        std::memcpy(&word, at + i, sizeof word);
        result_.digest = (result_.digest ^ word) * 0x100000001b3u;
      }
    }
    if (with_cpu) check_with_cpu();
    if (result_.wrong.empty()) break;
    ++result_.differed;
  }
  FERRY_TRY(commands_.begin(batch_ * (step_.dispatches.size() + slots_.size())));
  for (uint64_t i = 0; i < batch_; ++i) {
    FERRY_TRY(once(&commands_));
    FERRY_TRY(compare(i, &commands_));
  }
  return commands_.end();
}

Status Replay::run(uint64_t count) {
  for (uint64_t done = 0; done < count; done += batch_) {
    FERRY_TRY(commands_.submit());
    FERRY_TRY(commands_.wait());
    FERRY_TRY(host_.invalidate());
    const auto* counts = reinterpret_cast<const uint32_t*>(host_.mapped() + counts_);
    for (uint64_t i = 0; i < batch_; ++i) {
      const uint32_t* begin = counts + i * counts_each_;
      result_.differed += std::any_of(begin, begin + counts_each_, [](uint32_t n) { return n != 0; }) ? 1 : 0;
    }
    result_.runs += batch_;
  }
  return {};
}

}  // namespace ferry::gpu
