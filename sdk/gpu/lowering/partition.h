// From a graph and its shapes to a program: forms chains of operators and lowers each to the GPU or leaves it to the
// CPU.
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

// Operators that run as one: the first, and the elementwise ones fused into it.
struct Chain {
  std::vector<int> operators;  // in Graph.operators, ascending
  Epilogue epilogue;           // all but the first
};

// Fuses operator `next`, which reads the chain's output, into the chain. False: it cannot, and the chain is unchanged.
bool ride(const Model& model, const Shapes& shapes, int next, Chain* chain);

// Assigns every operator to exactly one chain, in an order that computes values before their use. `kept`: by tensor,
// whether it must exist after a run (outputs, kept taps). Such values, and values with several readers, end a chain.
std::vector<Chain> make_chains(const Model& model, const Shapes& shapes, const PerTensor<bool>& kept);

// The shape of the fixed-size state that `op` changes, for these input shapes; of rank 0 if it changes none.
Shape fixed_state(const Model& model, const fbs::Operator& op, const Shapes& shapes);

// The problem of a chain. `shapes`: of every tensor.
Problem problem_of(const Model& model, const Chain& chain, const Shapes& shapes, Storage storage, const Limits& limits);

// Lowers a chain with its tuned alternative, otherwise with the first that fits the problem and the device's limits and
// has no variant that is known to be wrong on this driver. FERRY_GPU_UNAVAILABLE: an alternative fits the problem, but
// not the device or its driver. FERRY_UNSUPPORTED: none fits.
Status lower_chain(const Model& model, const Chain& chain, const Shapes& shapes, const Device& device, Program* program,
                   Step* step);
// Lowers with that alternative only. FERRY_UNSUPPORTED: it does not fit the problem. FERRY_GPU_UNAVAILABLE: it exceeds
// the device's limits.
Status lower_by(const Problem& problem, int alternative, Program* program, Step* step);

// Identifies an operator, its parameters, its shapes and the fused operators, for tuned choices: "conv2d f16 ...".
std::string signature(const Model& model, const Chain& chain, const Shapes& shapes, Storage storage);

// Lowers the chain of `step` at other shapes; the alternative may change.
Status lower_again(const Model& model, const Step& step, const Shapes& shapes, const Device& device, Program* program,
                   Step* out);

// Lowers the whole graph. A state is on the device if all operators that append to it or read it have kernels;
// otherwise the CPU computes them. Missing kernels are no errors: the steps give the reason why they are on the CPU.
Status make_program(const Model& model, const Shapes& shapes, const PerTensor<bool>& kept, const Device& device,
                    Storage storage, Program* out);

// Bytes that the program's dispatches move, and the minimum: every activation written and read once, weights read once.
struct Traffic {
  uint64_t moved = 0, minimum = 0, flops = 0;
};
Traffic traffic(const Model& model, const Program& program);

}  // namespace ferry::gpu
