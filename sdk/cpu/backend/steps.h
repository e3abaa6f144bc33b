// What the backend runs: the graph's operators and, in sessions of half precision, the conversions between them.
//
// A value is a tensor in one form, floats or halves. Those that the caller sees, or a state holds, are floats; any
// other is in the form in which its operator gives it, and where some operator takes it in the other form, there is a
// copy, made once. Values are numbered as the tensors are, copies after them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sdk/cpu/backend/op.h"
#include "sdk/model/per_tensor.h"

namespace ferry::cpu {

struct Step {
  unsigned op = 0;                        // in Graph.operators; of a conversion: that which gives the value
  bool converts = false;                  // into the other form
  bool of_input = false;                  // a conversion: of what the caller wrote
  bool float16 = false;                   // operands that are Float32 are halves, as far as they are no constants
  std::vector<TensorId> inputs, outputs;  // values
  std::unique_ptr<Op> kernel;             // given by the backend
  uint8_t view = 0;                       // 1 + which input's bytes it leaves as they are, or 0
};

struct Steps {
  std::vector<Step> list;
  PerTensor<TensorId> tensor;  // of each value
  PerTensor<TensorId> copies;  // of each tensor: the value in the other form, or the tensor itself where there is none
  PerTensor<uint8_t> float16;  // of each value: 1 where it is halves
  PerTensor<uint8_t> inner;    // of each value: 1 where it lies between operators that are computed together (bands.h)
};

// `in_half`: of each operator, whether it computes with halves. `floats`: of each tensor, 1 where the caller or a state
// holds it.
Steps make_steps(const Model& model, const std::vector<uint8_t>& in_float16, const PerTensor<uint8_t>& floats);

// Which operators compute with halves, decided in their order: those with weights, whose packed weights are half as
// large, and those whose operands are halves already.
class Float16Choice {
 public:
  explicit Float16Choice(const Model& model) : given_(model.graph().tensors()->size()) {}
  bool pays(const fbs::Operator& op) const;
  void add(const fbs::Operator& op, bool float16);
  const std::vector<uint8_t>& in_float16() const { return in_float16_; }

 private:
  PerTensor<uint8_t> given_;  // of each tensor: by an operator that computes with halves
  std::vector<uint8_t> in_float16_;
};

// A conversion of `count` numbers into halves, or back.
std::unique_ptr<Op> create_conversion(bool into_float16);

}  // namespace ferry::cpu
