// Watches a session's GPU while an app runs: some rows of one operator of a run, chosen at random, are computed again
// by the CPU and compared. It takes a given share of the time of all runs, at most.
#pragma once

#include <string>
#include <vector>

#include "sdk/gpu/canary/recomputation.h"
#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/model/model.h"

namespace ferry::gpu {

class Watch {
 public:
  // `share`: of the time of runs, above 0.
  Watch(const Model& model, double share) : model_(model), share_(share) {}

  // Before a run: chooses a step and rows of its output. SIZE_MAX: nothing to watch in this run, for lack of time or of
  // operators. FERRY_OUT_OF_MEMORY and others from taking memory.
  Status choose(const Program& program, Device& device, size_t* step);
  // Copies for the command buffer of the chosen step: of what it reads before its dispatches, of its output after them.
  // `place(tensor)`: where the quads of a tensor are.
  template <typename Place>
  void record_inputs(const Place& place, Commands* commands) const {
    record(copies_, place, commands);
  }
  template <typename Place>
  void record_output(const Place& place, Commands* commands) const {
    record(results_, place, commands);
  }
  size_t step() const { return step_; }  // the chosen one
  // After the run, whose commands contained those copies. FERRY_GPU_WRONG: the CPU disagrees; the message says about
  // what.
  Status judge(const Program& program);

  // Seconds that a run took in all, and of these for the watch.
  void add(double run, double watch) {
    run_seconds_ += run;
    watch_seconds_ += watch;
  }
  // Seconds that it took to record the commands of a watched run.
  void add_recording(double seconds) { fixed_seconds_ = (fixed_seconds_ + seconds) / 2; }
  // The program has changed.
  void forget() { listed_ = false; }
  // Runs of which an operator was compared.
  size_t count() const { return count_; }

 private:
  struct Row {
    RowId id;
    uint64_t offset, bytes;  // in memory_
  };

  template <typename Place>
  void record(const std::vector<Row>& rows, const Place& place, Commands* commands) const {
    std::vector<Commands::Copy> copies;
    for (const Row& row : rows) {
      BufferRange from = place(row.id.tensor);
      from.offset += row.id.row * row.bytes;
      from.bytes = row.bytes;
      copies.push_back({from, {memory_.handle(), row.offset, row.bytes}});
    }
    commands->copy(copies);
  }
  void list_steps(const Program& program);
  bool choose_rows(const Program& program, double seconds);
  bool add_row(const Program& program, const RowId& id, std::vector<Row>* to);
  std::vector<double> values(const Program& program, const Row& row) const;
  uint64_t random(uint64_t below);

  const Model& model_;
  const double share_;
  bool listed_ = false;
  std::vector<size_t> steps_;  // that can be computed again
  size_t step_ = SIZE_MAX;     // chosen, perhaps waiting for time
  Buffer memory_;
  uint64_t used_ = 0;
  std::vector<Row> copies_, results_;
  std::vector<uint32_t> channels_;
  bool whole_ = false;
  double run_seconds_ = 0, watch_seconds_ = 0;
  double fixed_seconds_ = 2e-4;    // of recording the commands, measured
  double seconds_of_term_ = 4e-9;  // of a multiply-add on the CPU, measured
  uint64_t terms_ = 0;             // of the rows that are chosen
  uint64_t seed_ = 0x9e3779b97f4a7c15u;
  size_t count_ = 0;
};

}  // namespace ferry::gpu
