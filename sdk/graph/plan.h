// Where every activation lies: one arena, planned from lifetimes before anything runs.
//
// Values are tensors; steps run in order. A value is alive from the step that writes it to the last that reads it, and
// two values that are alive at one step never overlap, but for a step that works in place or gives a view of its input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"

namespace ferry {

struct PlanRequest {
  struct Step {
    std::vector<TensorId> inputs;    // values it reads; those without bytes (constants) are ignored
    std::vector<TensorId> reusable;  // values among `inputs` whose memory the output may take over, best first
    std::vector<TensorId> outputs;   // the first one may take over memory
    uint64_t workspace = 0;          // bytes of scratch memory, alive during this step only
    bool view = false;  // the only output is inputs[0] under another shape: it shares the memory, nothing is written
  };

  PerTensor<uint64_t> bytes;  // of each value; 0: it has no place in the arena
  std::vector<Step> steps;
  std::vector<TensorId> inputs;     // written by the caller, and unchanged by any run: alive always
  std::vector<TensorId> kept;       // read by the caller after a run: alive to the end
  std::vector<TensorId> lasting;    // written in one run and read in later ones: alive always
  uint64_t alignment = kAlignment;  // of every offset
};

inline constexpr uint64_t kNoOffset = UINT64_MAX;

struct Plan {
  PerTensor<uint64_t> offsets;       // of each value, aligned; kNoOffset where it has no place
  std::vector<uint64_t> workspaces;  // offset of each step's scratch memory; kNoOffset where it has none
  uint64_t arena_bytes = 0;          // kExtraBytes after every value included; UINT64_MAX: more than 62 bits can count
};

// Largest value first, each into the smallest gap that fits between those already placed that live at the same time.
// The same request gives the same plan on every host.
Plan make_plan(const PlanRequest& request);

}  // namespace ferry
