// The reference: every operator in plain loops, in float64. The converter folds constants with it, canaries
// (sdk/gpu/canary) compare a driver's results with it, and tests compare every backend with it. An operator is a file.
// Slow: meant for tensors of a few thousand elements, though tests run whole networks.
//
// The converter and tests call compute(), which knows all operators. The canaries call the functions that their own
// table names (sdk/gpu/canary/answers.cc), so that the linker leaves the others out of the library.
#pragma once

#include <span>
#include <vector>

#include "ferry_generated.h"
#include "sdk/operators/shape.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/status.h"

namespace ferry::reference {

struct Array {
  Shape shape;
  std::vector<double> values;  // row-major, channels last; of Int32 and Int8 whole numbers
  fbs::DType dtype = fbs::DType::Float32;
  bool quantized = false;  // a constant whose values are integers times scales
  // Of a quantised weight: the rows that it is multiplied with are rounded to 8 bits first, as on the CPU
  // (sdk/reference/rounded_rows.h). Otherwise they stay unchanged, as on the GPU.
  bool rounds_rows = false;
  // Of Int8: the scale of an activation, or the scales of a weight: one, or one per output channel.
  std::vector<float> scales = {};
  int32_t zero_point = 0;
  bool activation = false;  // of Int8 with scales: no constant
};

using Inputs = std::span<const Array* const>;

// A state before a run: `shape.length` indices of its axis; of fixed size all of it, or nothing for zeros.
struct State {
  StateShape shape;
  std::vector<double> values = {};
};

// ---- of inputs that are checked first -------------------------------------------------------------------------------

// All outputs that `op` names, for these inputs and the graph's states; at least one. `quantization`: of an Int8
// output. The errors of infer_shapes() and infer_type(). FERRY_SHAPE_MISMATCH: an array has not as many values as its
// shape. FERRY_INVALID_ARGUMENT: an index or the number of an expert is outside of its range.
Status compute(const fbs::Operator& op, Inputs inputs, std::span<const State> states, std::vector<Array>* outputs,
               const Type& quantization = {});

// What the state that `op` names and changes is after `op` computed `output`.
State changed_state(const fbs::Operator& op, Inputs inputs, const Array& output, const State& before);

// Whether another step of a loop follows, given the inputs of its LoopEnd `op`.
bool another_step(const fbs::Operator& op, Inputs inputs);

// ---- of inputs that are known to fit --------------------------------------------------------------------------------

// Computes the first output, which has its shape, its type and as many zeros. `operands`: the inputs, and what the
// state holds, if the operator has one.
using Function = void (*)(const fbs::Operator& op, Inputs operands, Array& output);

// The function of an operator, for any operator (sdk/reference/functions.cc).
Function function_of(fbs::OpParams type);

// Replaces the values of each output, which has its shape and type. `function`: the operator's. Shapes may differ from
// those that the parameters state (the height of a resize), because canaries are small.
void fill_outputs(Function function, const fbs::Operator& op, Inputs operands, std::span<Array> outputs);

// What the state holds afterwards; `output`: the first output. Empty for an operator that changes no state.
std::vector<double> state_after(const fbs::Operator& op, Inputs operands, const Array& output);

}  // namespace ferry::reference
