#include "sdk/gpu/audit/audit.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "sdk/gpu/audit/sensors.h"
#include "sdk/gpu/canary/replay.h"
#include "sdk/gpu/device/pipelines.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/operators/operators.h"

namespace ferry::gpu {
namespace {

constexpr uint64_t kRunsOfTurn = 128;
constexpr int kRoundsToRest = 8;
constexpr std::chrono::milliseconds kRest{250};
constexpr double kSecondsOfReading = 1;

AuditOperator describe(const Model& model, const Step& step, const Shapes& shapes) {
  AuditOperator out;
  const fbs::Operator& first = operator_at(model, step.operators.front());
  if (first.name() != nullptr) out.name = first.name()->str();
  out.op = op_name(first.params_type());
  out.shape = to_string(shapes[step.output]);
  out.kernel = to_string(step.dispatches.back().variant);
  return out;
}

void take(const Replayed& result, AuditOperator* out) {
  out->runs += result.runs;
  out->differed += result.differed;
  out->compared |= result.compared;
  out->error = std::max(out->error, result.error);
  if (!result.wrong.empty()) out->problem = result.wrong;
}

}  // namespace

Status run_audit(const Model& model, const Program& program, std::span<const BufferRange> weights, Device& device,
                 const AuditRequest& request, AuditReport* out) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Sensors sensors(request.root);
  sensors.read();
  double last_reading = 0;
  std::vector<const Step*> steps;
  std::set<uint64_t> seen;
  for (const Step& step : program.steps) {
    if (!replayable(program, step) || !seen.insert(work_id(step, program.shapes)).second) continue;
    steps.push_back(&step);
    out->operators.push_back(describe(model, step, program.shapes));
  }
  std::vector<uint64_t> digests;  // of each operator's first turn
  bool again = !steps.empty();
  for (int round = 0; again; ++round) {
    for (size_t i = 0; i < steps.size(); ++i) {
      if (round > 0 && passed() >= request.seconds) break;
      Replay replay(model, program, *steps[i], weights, device);  // one at a time: all of them may not fit in memory
      // The CPU's comparison takes time in which the device rests.
      Status status = replay.begin(round % kRoundsToRest == 0);
      if (status.ok() && digests.size() <= i) digests.push_back(replay.result().digest);
      const bool same = !status.ok() || digests[i] == replay.result().digest;
      if (status.ok()) status = replay.run(kRunsOfTurn);
      take(replay.result(), &out->operators[i]);
      if (!same) ++out->operators[i].differed;
      if (status.code() == FERRY_OUT_OF_MEMORY) return status;
      if (status.code() == FERRY_GPU_LOST) out->lost = status.message();
      if (!status.ok()) out->operators[i].problem = status.message();
      if (!out->lost.empty()) break;
      if (passed() - last_reading >= kSecondsOfReading) {
        sensors.read();
        last_reading = passed();
      }
      if (request.progress != nullptr)
        request.progress(request.user, std::min(passed() / std::max(request.seconds, 1e-3), 1.0));
    }
    again = out->lost.empty() && passed() < request.seconds;
    if (again && round % kRoundsToRest == kRoundsToRest - 1) std::this_thread::sleep_for(kRest);
  }
  sensors.read();
  out->sensors = sensors.report();
  out->seconds = passed();
  return {};
}

}  // namespace ferry::gpu
