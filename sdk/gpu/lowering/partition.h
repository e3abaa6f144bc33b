// From a graph and its shapes to a program: chains of operators, each lowered to the GPU or left to the CPU.
#pragma once

#include <string>
#include <vector>

#include "sdk/gpu/lowering/op.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"
#include "sdk/status.h"

namespace ferry::gpu {

inline const fbs::Operator& operator_at(const Model& model, int index) {
  return *model.graph().operators()->Get(static_cast<unsigned>(index));
}

// Operators that run as one: the first, and elementwise ones that ride on it.
struct Chain {
  std::vector<int> operators;  // in Graph.operators, ascending
  Epilogue epilogue;           // of all but the first
};

// Lets operator `next`, which reads what the chain computes, ride on it. False: it cannot, and the chain is as it was.
bool ride(const Model& model, const Shapes& shapes, int next, Chain* chain);

// Every operator in exactly one chain, in an order that computes values before their use. `kept` is by tensor: must it
// exist after a run (an output, a kept tap)? Such values, and those with a second reader, end a chain.
std::vector<Chain> make_chains(const Model& model, const Shapes& shapes, const PerTensor<bool>& kept);

// The state of fixed size that `op` changes, at those shapes of its inputs; of rank 0: it changes none.
Shape fixed_state(const Model& model, const fbs::Operator& op, const Shapes& shapes);

// The problem of a chain at the shapes of `shapes` (of every tensor).
Problem problem_of(const Model& model, const Chain& chain, const Shapes& shapes, Storage storage, const Limits& limits);

// Lowers a chain by its tuned alternative, else by the first that fits the problem, the device's limits, and of which
// no variant is known to be wrong on this driver. Where there is none: FERRY_GPU_UNAVAILABLE with what the device or
// its driver lacks for one that fits the problem, or FERRY_UNSUPPORTED.
Status lower_chain(const Model& model, const Chain& chain, const Shapes& shapes, const Device& device, Program* program,
                   Step* step);
// By that alternative only. FERRY_UNSUPPORTED: it does not fit the problem; FERRY_GPU_UNAVAILABLE: the device's limits.
Status lower_by(const Problem& problem, int alternative, Program* program, Step* step);

// What names an operator, its parameters, its shapes and what rides on it, for tuned choices: "conv2d f16 ...".
std::string signature(const Model& model, const Chain& chain, const Shapes& shapes, Storage storage);

// The same chain as `step`'s, lowered at other shapes, which may be another alternative.
Status lower_again(const Model& model, const Step& step, const Shapes& shapes, const Device& device, Program* program,
                   Step* out);

// The whole graph. A state is on the device where all that append to it and read it have kernels; else the CPU computes
// these. Never fails for want of a kernel: steps then say why they are on the CPU.
Status make_program(const Model& model, const Shapes& shapes, const PerTensor<bool>& kept, const Device& device,
                    Storage storage, Program* out);

// Bytes that the program's dispatches move, and the least that its steps could: every activation written once and read
// once, weights read once.
struct Traffic {
  uint64_t moved = 0, minimum = 0, flops = 0;
};
Traffic traffic(const Model& model, const Program& program);

}  // namespace ferry::gpu
