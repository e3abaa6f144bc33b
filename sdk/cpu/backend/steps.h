// The steps that the backend runs: the graph's operators and, in float16 sessions, the conversions between them.
//
// A value is a tensor in one precision, float32 or float16. Values that the caller or a state holds are float32; any
// other has the precision of the operator that outputs it. If an operator reads a tensor in the other precision, there
// is one converted copy. Values are numbered like tensors, followed by the copies.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sdk/cpu/backend/op.h"
#include "sdk/model/per_tensor.h"
#include "sdk/operators/loops.h"

namespace ferry::cpu {

struct Step {
  unsigned op = 0;        // index in Graph.operators; for a conversion: the operator that outputs the value
  bool converts = false;  // converts to the other precision
  bool of_input = false;  // a conversion of a graph input
  bool float16 = false;   // Float32 operands except constants are float16
  std::vector<TensorId> inputs, outputs;  // values
  std::unique_ptr<Op> kernel;             // set by the backend
  uint8_t view = 0;                       // 1 + index of the input whose bytes the output shares, or 0
};

struct Steps {
  std::vector<Step> list;
  std::vector<Loop> loops;     // of positions in the list
  PerTensor<TensorId> tensor;  // of each value: its tensor
  PerTensor<TensorId> copies;  // of each tensor: the value in the other precision, or the tensor itself
  PerTensor<uint8_t> float16;  // of each value: 1 if it is float16
  PerTensor<uint8_t> inner;    // of each value: 1 if it lies inside a fused chain (bands.h)
};

// `in_float16`: for each operator, whether it computes in float16. `floats`: for each tensor, 1 if the caller or a
// state holds it.
Steps make_steps(const Model& model, const std::vector<uint8_t>& in_float16, const PerTensor<uint8_t>& floats);

// Selects the operators that compute in float16, in graph order: those with weights, whose packed weights halve in
// size, and those whose operands are float16 already.
class Float16Choice {
 public:
  explicit Float16Choice(const Model& model) : output_float16_(model.graph().tensors()->size()) {}
  bool pays(const fbs::Operator& op) const;
  void add(const fbs::Operator& op, bool float16);
  const std::vector<uint8_t>& in_float16() const { return in_float16_; }

 private:
  PerTensor<uint8_t> output_float16_;  // of each tensor: an operator outputs it in float16
  std::vector<uint8_t> in_float16_;
};

// Converts `count` elements to float16, or back to float32.
std::unique_ptr<Op> create_conversion(bool into_float16);

}  // namespace ferry::cpu
