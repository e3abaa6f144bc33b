#include "sdk/gpu/backend/tune.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

#include "sdk/gpu/backend/weights.h"
#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/device/pipelines.h"
#include "sdk/gpu/lowering/partition.h"

namespace ferry::gpu {
namespace {

constexpr int kRuns = 5;  // the fastest counts

// A chain lowered in one way.
struct Candidate {
  Program program;  // one step
  const Step& step() const { return program.steps[0]; }
};

std::vector<Candidate> candidates(const Problem& problem, const Shapes& shapes, const Pipelines& pipelines) {
  std::vector<Candidate> out;
  if (!serves(problem.op, problem.types).ok()) return out;
  for (int i = 0; i < alternatives(problem.op.params_type()); ++i) {
    Candidate candidate{{.storage = problem.storage, .shapes = shapes}};
    Step step;
    if (!lower_by(problem, i, &candidate.program, &step).ok()) continue;
    const auto wrong = [&](const Dispatch& d) { return pipelines.verdict(d.variant) == Pipelines::Verdict::Wrong; };
    if (std::any_of(step.dispatches.begin(), step.dispatches.end(), wrong)) continue;
    candidate.program.steps.push_back(std::move(step));
    out.push_back(std::move(candidate));
  }
  return out;
}

// The candidate's own memory: every activation it accesses, then its workspace.
class Arena {
 public:
  Status create(Device& device, const Candidate& candidate) {
    const uint64_t alignment = device.limits().offset_alignment;
    uint64_t end = 0;
    const auto take = [&](uint64_t bytes) {
      const uint64_t begin = end;
      end = aligned(begin + bytes, alignment);
      return begin;
    };
    for (const Dispatch& dispatch : candidate.step().dispatches)
      for (const Operand& operand : dispatch.bindings) {
        if (operand.kind != Operand::Kind::Value || ranges_.contains(operand.tensor)) continue;
        const Shape& shape = candidate.program.shapes[operand.tensor];
        const uint64_t bytes = stored_bytes(shape, candidate.program.storage);
        ranges_[operand.tensor] = {VK_NULL_HANDLE, take(bytes), bytes};
      }
    workspace_ = take(candidate.step().workspace);
    return device.allocate(std::max<uint64_t>(end, alignment), MemoryUse::Device, &buffer_);
  }
  BufferRange range(const Operand& operand, const std::vector<BufferRange>& weights) const {
    switch (operand.kind) {
      case Operand::Kind::Weights: return weights[operand.region];
      case Operand::Kind::Workspace: return {buffer_.handle(), workspace_ + operand.offset, operand.bytes};
      case Operand::Kind::Value: {
        const BufferRange& range = ranges_.at(operand.tensor);
        return {buffer_.handle(), range.offset, range.bytes};
      }
      case Operand::Kind::None:
      case Operand::Kind::State:        // of operators with one alternative
      case Operand::Kind::Host: break;  // transfers have no alternatives
    }
    return {};
  }

 private:
  Buffer buffer_;
  std::map<TensorId, BufferRange> ranges_;
  uint64_t workspace_ = 0;
};

// Measures with the device's timestamps if it has them, otherwise from submission to completion.
Status time(Device& device, const Candidate& candidate, const std::vector<BufferRange>& weights, double* nanoseconds) {
  Arena arena;
  FERRY_TRY(arena.create(device, candidate));
  Commands commands(device);
  FERRY_TRY(commands.begin(candidate.step().dispatches.size(), true));
  for (const Dispatch& dispatch : candidate.step().dispatches) {
    std::array<BufferRange, kBindings> ranges;
    for (size_t i = 0; i < kBindings; ++i) ranges[i] = arena.range(dispatch.bindings[i], weights);
    FERRY_TRY(commands.dispatch(dispatch, ranges));
  }
  commands.timestamp();
  FERRY_TRY(commands.end());
  *nanoseconds = INFINITY;
  std::span<const double> timestamps;
  for (int run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    FERRY_TRY(commands.submit());
    FERRY_TRY(commands.wait());
    const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
    FERRY_TRY(commands.timestamps(&timestamps));
    *nanoseconds = std::min(*nanoseconds, timestamps.size() > 1 ? timestamps.back() : passed.count());
  }
  return {};
}

Status tune_chain(const Model& model, const std::vector<Candidate>& all, Device& device, const std::string& name) {
  // Freed after each chain: a model's weights in all layouts may not fit.
  Weights weights(device, all[0].program.storage);
  double best = INFINITY;
  int fastest = -1;
  for (const Candidate& candidate : all) {
    std::vector<BufferRange> ranges;
    double nanoseconds = INFINITY;
    Status status = weights.pack(ModelConstants(model), candidate.program.weights, &ranges);
    if (status.ok()) status = time(device, candidate, ranges, &nanoseconds);
    if (status.code() == FERRY_GPU_LOST) return status;
    if (!status.ok() || nanoseconds >= best) continue;  // without memory or pipeline it is not a candidate
    best = nanoseconds;
    fastest = candidate.step().alternative;
  }
  if (fastest >= 0) device.pipelines().set_tuned(name, fastest);
  return {};
}

}  // namespace

Status tune(const Model& model, const Shapes& shapes, const PerTensor<bool>& kept, Device& device, Storage storage,
            size_t* measured) {
  *measured = 0;
  // *lowered: kernels compute the chain as a whole.
  const auto visit = [&](const Chain& chain, bool* lowered) -> Status {
    const Problem problem = problem_of(model, chain, shapes, storage, device.limits());
    const std::vector<Candidate> all = candidates(problem, shapes, device.pipelines());
    *lowered = !all.empty();
    const std::string name = signature(model, chain, shapes, storage);
    if (all.size() < 2 || device.pipelines().tuned(name) >= 0) return {};
    ++*measured;
    return tune_chain(model, all, device, name);
  };
  for (const Chain& chain : make_chains(model, shapes, kept)) {
    bool lowered = false;
    FERRY_TRY(visit(chain, &lowered));
    if (lowered) continue;
    for (int index : chain.operators) FERRY_TRY(visit({{index}, {}}, &lowered));
  }
  device.pipelines().save();
  return {};
}

}  // namespace ferry::gpu
