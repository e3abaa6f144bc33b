// Two graphs of one network, made for different sizes of its inputs, become one for both.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "converter/onnx/importer.h"

namespace ferry::onnx {

class Generaliser {
 public:
  // `graph` was made for some size and is what becomes general. `opset`: of the file, for reasons.
  Generaliser(Graph& graph, int opset) : graph_(graph), opset_(opset) {}

  // Makes the graph compute what `other`, made for another size, computes at that size.
  void include(const Graph& other);
  // Adds reasons unless the graph, at the size that `other` was made for, does what `other` does or refuses the size.
  void check(const Graph& other);
  // What stands in the way; each operator is named once.
  const std::vector<Reason>& reasons() const { return reasons_; }
  // Repeated constants are held once from here on, and every shape is that which follows from these of the inputs.
  void finish(const std::vector<Shape>& inputs);

 private:
  bool same_operators(const Graph& other);
  void include_operator(fbs::OperatorT& op, const fbs::OperatorT& same, const Graph& other);
  void include_constant(const fbs::OperatorT& op, size_t input, const Graph& other);
  void give_reason(const fbs::OperatorT& op, const std::string& what);
  Tensor once(int tensor);
  Tensor repeated(const std::string& name, int tensor, Tensor like, int axis);

  Graph& graph_;
  int opset_;
  std::vector<Reason> reasons_;
  std::set<std::string> named_;  // operators that have a reason
  std::map<int, std::vector<int>>
      repeat_;               // constants' dimensions along which all places are alike and the size is open
  std::map<int, int> once_;  // such constants to those that hold each place once
};

}  // namespace ferry::onnx
