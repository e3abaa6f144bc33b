#include "sdk/gpu/backend/watch.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstring>

#include "sdk/gpu/canary/canary.h"
#include "sdk/gpu/canary/replay.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/model/elements.h"
#include "sdk/operators/operators.h"

namespace ferry::gpu {
namespace {

constexpr uint64_t kMemory = uint64_t{1} << 20;
constexpr uint64_t kMaxRows = 16, kMaxChannels = 64, kMinValues = 8;
// Inputs are the app's, of any magnitude: only what rounding cannot explain at all is reported.
constexpr double kSlack = 8;

double bound_of(Storage storage) {
  return kSlack * static_cast<double>(storage == Storage::Float16 ? kCanaryFloat16Bound : kCanaryBound);
}

uint64_t row_bytes(const Program& program, TensorId tensor) {
  return rows_of(program.shapes[tensor]).quads() * quad_bytes(program.storage);
}

}  // namespace

// xorshift64*
uint64_t Watch::random(uint64_t below) {
  seed_ ^= seed_ >> 12;
  seed_ ^= seed_ << 25;
  seed_ ^= seed_ >> 27;
  return (seed_ * 0x2545f4914f6cdd1du >> 11) % std::max<uint64_t>(below, 1);
}

void Watch::list_steps(const Program& program) {
  steps_.clear();
  step_ = SIZE_MAX;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const Step& step = program.steps[s];
    if (!replayable(program, step)) continue;
    // The reference trusts indices, which may be the app's.
    const auto integers = [&](TensorId tensor) { return model_.tensor(tensor).dtype() == fbs::DType::Int32; };
    if (std::any_of(step.inputs.begin(), step.inputs.end(), integers)) continue;
    const Recomputation cpu(model_, program, step, bound_of(program.storage));
    uint64_t bytes = 0;
    for (const std::vector<TensorId>& tensors : {step.inputs, outputs_of(step)})
      for (const TensorId tensor : tensors) bytes += stored_bytes(program.shapes[tensor], program.storage);
    if (cpu.possible() && (cpu.by_rows() || bytes <= kMemory)) steps_.push_back(s);
  }
}

bool Watch::add_row(const Program& program, const RowId& id, std::vector<Row>* to) {
  const uint64_t bytes = row_bytes(program, id.tensor);
  if (used_ + bytes > kMemory) return false;
  to->push_back({id, used_, bytes});
  used_ += bytes;
  return true;
}

// As many rows of the step as so many seconds allow; false: not one.
bool Watch::choose_rows(const Program& program, double seconds) {
  const Step& step = program.steps[step_];
  const Recomputation cpu(model_, program, step, bound_of(program.storage));
  const auto affordable = static_cast<uint64_t>(seconds / seconds_of_term_);
  copies_.clear();
  results_.clear();
  channels_.clear();
  used_ = 0;
  whole_ = !cpu.by_rows();
  if (whole_) {
    if (cpu.work() > affordable) return false;
    terms_ = cpu.work();
    for (const TensorId tensor : step.inputs)
      for (uint32_t row = 0; row < rows_of(program.shapes[tensor]).rows; ++row)
        if (!add_row(program, {tensor, row}, &copies_)) return false;
    for (const TensorId tensor : outputs_of(step))
      for (uint32_t row = 0; row < rows_of(program.shapes[tensor]).rows; ++row)
        if (!add_row(program, {tensor, row}, &results_)) return false;
    return true;
  }
  const Rows& rows = cpu.output();
  const uint64_t of_value = cpu.per_row() ? cpu.work() / rows.channels + 1 : cpu.work();
  const uint64_t channels = cpu.per_row() ? rows.channels : std::min<uint64_t>(rows.channels, kMaxChannels);
  uint64_t row_count = std::min({affordable / (of_value * channels), kMaxRows, uint64_t{rows.rows}});
  uint64_t channel_count = channels;
  if (row_count == 0) {  // a part of one row
    row_count = 1;
    channel_count = affordable / of_value;
    if (cpu.per_row() || channel_count < std::min(channels, kMinValues)) return false;
  }
  for (uint64_t i = 0; i < channel_count; ++i) {  // one of each part of the row
    const uint64_t begin = i * rows.channels / channel_count, end = (i + 1) * rows.channels / channel_count;
    channels_.push_back(static_cast<uint32_t>(begin + random(end - begin)));
  }
  terms_ = row_count * channel_count * of_value;
  for (uint64_t i = 0; i < row_count; ++i) {  // one of each part of the output
    const uint64_t begin = i * rows.rows / row_count, end = (i + 1) * rows.rows / row_count;
    const auto row = static_cast<uint32_t>(begin + random(end - begin));
    const uint64_t before = used_;
    const size_t copies = copies_.size();
    bool fits = add_row(program, {step.output, row}, &results_);
    for (const RowId& id : cpu.reads(row)) {
      const auto same = [&](const Row& other) { return other.id == id; };
      if (fits && std::none_of(copies_.begin(), copies_.end(), same)) fits = add_row(program, id, &copies_);
    }
    if (fits) continue;
    copies_.resize(copies);
    if (!results_.empty() && results_.back().id.row == row) results_.pop_back();
    used_ = before;
    break;
  }
  return !results_.empty();
}

Status Watch::choose(const Program& program, Device& device, size_t* step) {
  *step = SIZE_MAX;
  const double seconds = share_ * run_seconds_ - watch_seconds_ - fixed_seconds_;
  if (seconds <= 0) return {};
  if (!listed_) list_steps(program);
  listed_ = true;
  if (steps_.empty()) return {};
  if (memory_.handle() == VK_NULL_HANDLE) FERRY_TRY(device.allocate(kMemory, MemoryUse::Readback, &memory_));
  if (step_ == SIZE_MAX) step_ = steps_[random(steps_.size())];
  if (choose_rows(program, seconds)) *step = step_;
  return {};
}

std::vector<double> Watch::values(const Program& program, const Row& row) const {
  const std::byte* at = memory_.mapped() + row.offset;
  std::vector<double> out(rows_of(program.shapes[row.id.tensor]).channels);
  const bool integers = model_.tensor(row.id.tensor).dtype() == fbs::DType::Int32;  // whole numbers, stored as floats
  for (size_t i = 0; i < out.size(); ++i) {
    float value;
    if (program.storage == Storage::Float16) {
      uint16_t half;
      std::memcpy(&half, at + i * sizeof half, sizeof half);
      value = from_float16(half);
    } else {
      std::memcpy(&value, at + i * sizeof value, sizeof value);
    }
    out[i] = static_cast<double>(integers ? std::round(value) : value);
  }
  return out;
}

Status Watch::judge(const Program& program) {
  const auto start = std::chrono::steady_clock::now();
  const Step& step = program.steps[step_];
  FERRY_TRY(memory_.invalidate());
  const Recomputation cpu(model_, program, step, bound_of(program.storage));
  double worst = 0;
  if (whole_) {
    std::map<TensorId, std::vector<double>> inputs, outputs;
    const auto append = [&](const Row& row, std::map<TensorId, std::vector<double>>* to) {
      const std::vector<double> more = values(program, row);
      std::vector<double>& all = (*to)[row.id.tensor];
      all.insert(all.end(), more.begin(), more.end());
    };
    for (const Row& row : copies_) append(row, &inputs);
    for (const Row& row : results_) append(row, &outputs);
    for (const auto& [tensor, expected] : cpu.whole(inputs))
      for (size_t i = 0; i < expected.size(); ++i)
        worst = std::max(worst, excess(expected[i], static_cast<float>(outputs.at(tensor)[i]), program.storage));
  } else {
    RowValues inputs;
    for (const Row& row : copies_) inputs[row.id] = values(program, row);
    for (const Row& row : results_) {
      const std::vector<double> got = values(program, row);
      const std::vector<Expected> expected = cpu.row(row.id.row, channels_, inputs);
      for (size_t k = 0; k < channels_.size(); ++k)
        worst = std::max(worst, excess(expected[k], static_cast<float>(got[channels_[k]]), program.storage));
    }
  }
  step_ = SIZE_MAX;
  ++count_;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // Half of what was seen before, half of this.
  seconds_of_term_ = (seconds_of_term_ + seconds / static_cast<double>(std::max<uint64_t>(terms_, 1))) / 2;
  if (worst <= 1) return {};
  return error(FERRY_GPU_WRONG,
               "the GPU computed %.120s wrongly: by %.3g of what rounding explains, in watched run %zu",
               step_in_words(model_, step, program.shapes).c_str(), worst, count_);
}

}  // namespace ferry::gpu
