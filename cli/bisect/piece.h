// A piece is a few operators cut out of a graph, from some of its values to one of them. The oracle computes it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "converter/reference/reference.h"
#include "ferry_generated.h"
#include "sdk/model/per_tensor.h"

namespace ferry::bisect {

using reference::Array;
using Values = std::map<TensorId, Array>;

// A graph to cut from: a converter's or a blob's.
struct Source {
  const fbs::GraphT* model = nullptr;
  std::function<Array(TensorId)> constant;  // returns the values of a constant
  std::vector<reference::State> states;     // before the run

  // By tensor: the operator that computes it, or -1 for inputs and constants.
  PerTensor<int> producers() const;
};

struct Piece {
  std::vector<fbs::OperatorT> operators;      // in execution order
  Values known;                               // values read from outside, and constants
  std::map<TensorId, std::string> constants;  // the constants' names
  std::vector<reference::State> states;       // of the graph, before the run
  TensorId target = TensorId::None;
  std::map<TensorId, Type> integers;  // scales of the operators' Int8 results

  Type type_of_result(const fbs::OperatorT& op) const {
    const auto found = integers.find(op.outputs.front());
    return found == integers.end() ? Type() : found->second;
  }
  bool is_constant(TensorId tensor) const { return constants.contains(tensor); }
};

// Cuts out the operators that lead from the values in `given` to `target`. `target` itself is computed even if it is
// given. Values that depend only on constants become constants.
// Throws Error if an input of the graph is needed and not given.
Piece cut(const Source& source, TensorId target, const Values& given);

// Computes all values of the piece with the oracle. For the operators before number `from`, values are taken from
// `former` if it has them. Adds the approximate number of multiply-accumulates to `work` unless it is null.
Values compute(const Piece& piece, const Values* former = nullptr, size_t from = 0, uint64_t* work = nullptr);

// The largest difference relative to the absolute maximum of `right`, and its position. Infinite if the shapes differ
// or a value is NaN.
struct Difference {
  double relative = 0;
  size_t at = 0;
};
Difference difference(const Array& ours, const Array& right);

}  // namespace ferry::bisect
