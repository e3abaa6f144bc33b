// A few operators cut out of a graph, which the oracle computes: from some of its values to one of them.
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
  std::function<Array(TensorId)> constant;  // the values of a constant
  std::vector<reference::State> states;     // before the run

  // By tensor: the operator that computes it, -1 for inputs and constants.
  PerTensor<int> producers() const;
};

struct Piece {
  std::vector<fbs::OperatorT> operators;      // in order
  Values known;                               // what they read from outside, and constants
  std::map<TensorId, std::string> constants;  // their names
  std::vector<reference::State> states;       // of the graph, before the run
  TensorId target = TensorId::None;

  bool is_constant(TensorId tensor) const { return constants.contains(tensor); }
};

// The operators that lead to `target` from the values in `given`; `target` itself is computed even where it is given,
// and what constants alone lead to is a constant.
// Throws Error where they lead to an input of the graph that is not given.
Piece cut(const Source& source, TensorId target, const Values& given);

// Everything that the piece computes, by the oracle. Values that `former` has are taken from there for the operators
// before number `from`. Adds to `work`, unless it is null, about how many multiply-accumulates that took: a measure of
// time that is the same on every machine.
Values compute(const Piece& piece, const Values* former = nullptr, size_t from = 0, uint64_t* work = nullptr);

// The largest difference over the absolute maximum of `right`, and where. Infinite where shapes differ or a value is
// not a number.
struct Difference {
  double relative = 0;
  size_t at = 0;
};
Difference difference(const Array& ours, const Array& right);

}  // namespace ferry::bisect
