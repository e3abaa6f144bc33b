// Which operators of a float network compute on Int8, and with which scales.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/quantize/ranges.h"
#include "converter/quantize/weights.h"
#include "sdk/model/per_tensor.h"

namespace ferry::int8 {

// What an operator is to the quantiser.
enum class Role : uint8_t {
  Float,       // has no integer form
  Weighted,    // conv2d, linear
  Arithmetic,  // integers in, integers of another scale out
  Table,       // a function of one value: lookup
  Mover,       // moves or selects elements: one scale for inputs and output
};

// By type and kind of the operator.
Role role_of(const fbs::OperatorT& op);

// The number of inputs, from the first, whose elements `op` reads; weights and biases do not count.
size_t value_inputs(const fbs::OperatorT& op);

// `distributions`: operators whose values are not finite stay Float.
std::vector<Role> roles_of(const Graph& graph, const Distributions& distributions);

struct Plan {
  std::vector<bool> int8;                              // by operator
  PerTensor<Affine> affine;                            // of activations; those that share a scale have equal entries
  std::vector<std::shared_ptr<const Weight>> weights;  // by operator; null where Role is not Weighted
};

// Tensors that must have one scale because a mover reads or writes them.
class ScaleGroups {
 public:
  ScaleGroups(const Graph& graph, const std::vector<Role>& roles);

  // By tensor; activations only.
  size_t group_of(TensorId tensor) const { return groups_[tensor]; }
  // In the order of the network. Constants are in no group.
  const std::vector<std::vector<TensorId>>& members() const { return members_; }

 private:
  PerTensor<size_t> groups_;
  std::vector<std::vector<TensorId>> members_;
};

// The bounds of the function that computes each activation: ReLU6, sigmoid, the normalised pixels of input 0.
PerTensor<std::optional<Range>> bounds_of(const Graph& graph);

// The operators that compute on Int8 if those in `released` do not: weighted ones always, others where a producer
// does.
std::vector<bool> integer_operators(const Graph& graph, const std::vector<Role>& roles,
                                    const std::vector<bool>& released);

// The operator that computes each tensor; graph.table.operators.size() for inputs and constants.
PerTensor<size_t> producers_of(const Graph& graph);

}  // namespace ferry::int8
