// Memory plan of the activations: one arena, with offsets from lifetimes.
//
// Values are tensors; steps run in order. A value is live from the step that writes it to the last step that reads it.
// Two values that are live at the same step do not overlap, except for in-place steps and views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"
#include "sdk/operators/loops.h"

namespace ferry {

struct PlanRequest {
  struct Step {
    std::vector<TensorId> inputs;    // values it reads; those without bytes (constants) are ignored
    std::vector<TensorId> reusable;  // values among `inputs` that the output may overwrite, preferred ones first
    std::vector<TensorId> outputs;   // the first may reuse the memory of an input
    uint64_t workspace = 0;          // bytes of scratch memory, live during this step only
    bool view = false;               // the only output is inputs[0] with another shape; nothing is written
  };

  PerTensor<uint64_t> bytes;  // size of each value; 0: not in the arena
  std::vector<Step> steps;
  // Steps from `begin` to `end` are repeated. What they read from before lives to the end, and what the last step
  // writes from the beginning on.
  std::vector<Loop> loops;
  std::vector<TensorId> inputs;     // written by the caller, not by runs: always live
  std::vector<TensorId> kept;       // read by the caller after a run: live to the end
  std::vector<TensorId> cached;     // computed in one run and read in later ones: always live
  uint64_t alignment = kAlignment;  // of every offset
};

inline constexpr uint64_t kNoOffset = UINT64_MAX;

struct Plan {
  PerTensor<uint64_t> offsets;       // of each value, aligned; kNoOffset: not in the arena
  std::vector<uint64_t> workspaces;  // offset of each step's scratch memory; kNoOffset: none
  uint64_t arena_bytes = 0;          // includes kExtraBytes after every value; UINT64_MAX: more than 62 bits
};

// Places values by decreasing size, each into the smallest gap between values that are live at the same time. The same
// request gives the same plan on every host.
Plan make_plan(const PlanRequest& request);

}  // namespace ferry
