// Everything that depends on shapes: the program, the memory plan of its values, and its CPU operators.
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

// Consecutive steps on one side without transfers in between: one submission, or CPU operators.
struct Segment {
  bool on_gpu = true;
  std::vector<size_t> steps;
  std::unique_ptr<Commands> commands;
  std::vector<size_t> timed;  // the step that each timestamp but the first ends
};

struct Layout {
  Program program;
  Plan device, host;                        // the arena; host-visible values and scratch memory of CPU operators
  std::vector<uint64_t> device_workspaces;  // of each step, in the arena
  std::vector<uint64_t> host_workspaces;    // of each CPU step, in bytes
  Buffer arena, transfer;
  std::vector<BufferRange> weights;  // of Program.weights
  PerTensor<BufferRange> bound;      // by tensor: buffers bound by the application, null for the session's own memory
  std::vector<Segment> segments;
  std::vector<std::unique_ptr<cpu::Op>> cpu_ops;  // by operator, null if it runs on the GPU
  PerTensor<uint64_t> ports;                      // offset in port_memory, by tensor; kNoOffset: not a port
  std::unique_ptr<std::byte[]> port_memory;
  uint64_t port_bytes = 0;
};

// Bytes of an activation in host memory.
inline uint64_t host_bytes(const Shape& shape) { return static_cast<uint64_t>(shape.elements()) * sizeof(Element); }

// Bytes of all values in both memories.
uint64_t memory_of(const Layout& layout);

// Whether the tensor is a state's memory on the device.
inline bool is_device_state(const Program& program, TensorId tensor) {
  const int state = program.state_of[tensor];
  return state >= 0 && program.device_states[static_cast<size_t>(state)];
}

// Whether `step` appends to a state on the device. The appended rows are also copied to the host.
inline bool appends_on_device(const Program& program, const Step& step) {
  return step.on_gpu && is_device_state(program, step.output);
}

// Lowers the CPU operators and plans the memory of all values: one plan in quads for values that kernels access, one in
// float32 for values that the host accesses, over the same steps. `kept`: by tensor, as for make_program().
// FERRY_MEMORY_LIMIT: both exceed the budget, which may be null.
Status plan_layout(const Model& model, const PerTensor<bool>& kept, uint64_t offset_alignment,
                   const MemoryBudget* budget, const States* states, Pool* pool, Layout* layout);

// Sets the addresses of the CPU operators. `transfer` must be allocated.
Status setup_cpu_ops(const Model& model, const States* states, const Layout& layout);

// Reshapes the CPU operator of `step`. *workspace: bytes of scratch memory.
Status reshape_cpu_op(const Model& model, const Step& step, const Shapes& shapes, const States* states, Pool* pool,
                      cpu::Op* op, uint64_t* workspace);

}  // namespace ferry::gpu
