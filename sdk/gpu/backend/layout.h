// All that shapes settle for the GPU backend: the program, where its values lie, and its operators on the CPU.
#pragma once

#include <memory>
#include <vector>

#include "sdk/cpu/backend/op.h"
#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/graph/plan.h"
#include "sdk/graph/states.h"
#include "sdk/model/memory_budget.h"
#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"
#include "sdk/operators/type.h"

namespace ferry::gpu {

// A chain of steps that run on one side without a word to the other: one submission, or operators of the CPU.
struct Segment {
  bool on_gpu = true;
  std::vector<size_t> steps;
  std::unique_ptr<Commands> commands;
  std::vector<size_t> timed;  // which step each timestamp but the first ends
};

struct Layout {
  Program program;
  Plan device, host;                        // the arena; values that the host sees, and scratch memory of CPU operators
  std::vector<uint64_t> device_workspaces;  // of each step, in the arena
  std::vector<uint64_t> host_workspaces;    // and of those on the CPU, bytes
  Buffer arena, transfer;
  std::vector<Place> weights;  // of Program.weights
  PerTensor<Place> bound;      // by tensor: buffers of the app's, null where the session's own memory serves
  std::vector<Segment> segments;
  std::vector<std::unique_ptr<cpu::Op>> cpu_ops;  // by operator, null where it runs on the GPU
  PerTensor<uint64_t> ports;                      // offset in port_memory, by tensor; kNoOffset: no port
  std::unique_ptr<std::byte[]> port_memory;
  uint64_t port_bytes = 0;
};

// Of an activation where the host reads it.
inline uint64_t host_bytes(const Shape& shape) { return static_cast<uint64_t>(shape.elements()) * sizeof(Element); }

// Bytes of all values, on both sides.
uint64_t memory_of(const Layout& layout);

// Whether the tensor is a state's memory on the device.
inline bool is_device_state(const Program& program, TensorId tensor) {
  const int state = program.state_of[tensor];
  return state >= 0 && program.device_states[static_cast<size_t>(state)];
}

// Does `step` append to a state on the device? What it appends goes to the host, too.
inline bool appends_on_device(const Program& program, const Step& step) {
  return step.on_gpu && is_device_state(program, step.output);
}

// Lowers the program's operators on the CPU and gives every value its place: two plans over the same steps, one of the
// values that kernels touch, in quads, one of those that the host touches, in floats. `kept` is by tensor, as for
// make_program(). FERRY_MEMORY_LIMIT: both together exceed the budget, which may be null.
Status plan_layout(const Model& model, const PerTensor<bool>& kept, uint64_t offset_alignment,
                   const MemoryBudget* budget, const States* states, Pool* pool, Layout* layout);

// Tells the CPU's operators their addresses, once `transfer` is allocated.
Status setup_cpu_ops(const Model& model, const States* states, const Layout& layout);

// Sizes of the operator on the CPU that `step` is. *workspace: bytes of scratch memory.
Status reshape_cpu_op(const Model& model, const Step& step, const Shapes& shapes, const States* states, Pool* pool,
                      cpu::Op* op, uint64_t* workspace);

}  // namespace ferry::gpu
