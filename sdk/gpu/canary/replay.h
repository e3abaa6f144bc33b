// Replays of one step of a program at its own shapes, with the model's weights and made-up inputs. Drivers are known
// that compute a kernel rightly at small sizes only, or only most of the times.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/device/device.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/model/model.h"

namespace ferry::gpu {

struct Replayed {
  uint64_t runs = 0;
  uint64_t differed = 0;  // runs whose output differed in a bit from the run that the others are compared with
  double error = 0;       // of that run against the CPU, as a fraction of the bound; above 1 it is wrong
  bool compared = false;  // with the CPU; not possible where an operator reads or changes a state
  std::string wrong;      // what is wrong with that run; "" if nothing is
  uint64_t digest = 0;    // of that run's output
  bool right() const { return differed == 0 && wrong.empty(); }
};

class Replay {
 public:
  // `weights`: packed, of program.weights. All must outlive this object.
  Replay(const Model& model, const Program& program, const Step& step, std::span<const BufferRange> weights,
         Device& device)
      : model_(model), program_(program), step_(step), weights_(weights), device_(device), commands_(device) {}

  // Takes memory, and runs the step until a run agrees with the CPU (at most three times; `with_cpu` false: once); the
  // others are compared with it. FERRY_GPU_LOST, FERRY_OUT_OF_MEMORY. FERRY_BACKEND_ERROR: the driver does not even
  // compare rightly.
  Status begin(bool with_cpu = true);
  // At least `count` more runs, each compared on the device.
  Status run(uint64_t count);
  const Replayed& result() const { return result_; }

 private:
  // Places of a tensor: quads, quads of the run to compare with, and the host's elements.
  struct Slot {
    TensorId tensor;
    bool output = false;
    uint64_t quads = 0, bytes = 0, expected = 0, elements = 0, element_bytes = 0;
    uint64_t first_count = 0, parts = 0, share = 0;  // of comparisons
  };

  void lay_out();
  BufferRange range(const Operand& operand) const;
  const Slot& slot(TensorId tensor) const;
  Status once(Commands* commands) const;
  Status compare(uint64_t place, Commands* commands) const;
  Status prepare_first(Commands* commands, bool upload) const;
  void fill_inputs();
  void check_with_cpu();
  double worst(bool* compared) const;

  const Model& model_;
  const Program& program_;
  const Step& step_;
  const std::span<const BufferRange> weights_;
  Device& device_;
  Buffer memory_, host_;
  std::vector<Slot> slots_;
  uint64_t memory_bytes_ = 0, host_bytes_ = 0, workspace_ = 0, state_ = 0, first_state_ = 0, state_bytes_ = 0;
  uint64_t counts_ = 0, counts_each_ = 0;  // where they lie in host_, and how many each comparison has
  uint64_t batch_ = 1;                     // runs in a submission
  Commands commands_;                      // of a batch
  Replayed result_;
};

// Whether a step can be replayed: it has kernels, and does not append to a state, most of which it leaves as it is.
bool replayable(const Program& program, const Step& step);
// Identifies a step's kernels and sizes: equal steps are equal work.
uint64_t work_id(const Step& step, const Shapes& shapes);
// The step in words: "conv2d [1,56,56,64] layer1.0.conv1".
std::string step_in_words(const Model& model, const Step& step, const Shapes& shapes);

}  // namespace ferry::gpu
