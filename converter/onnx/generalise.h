// Two graphs of one network, made for different sizes of its inputs, become one for both.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "converter/onnx/importer.h"

namespace ferry::onnx {

class Generaliser {
 public:
  // `graph` was made for some size and is what becomes general. `opset`: of the file, for reasons.
  Generaliser(Graph& graph, int opset) : graph_(graph), opset_(opset) {}

  // Makes the graph compute what `other`, made for another size, computes at that size. A third size, where there is
  // one, tells sizes that are multiples of others from such that only happen to be.
  void include(const Graph& other, const Graph* third);
  // Adds reasons unless the graph, at the size that `other` was made for, does what `other` does or refuses the size.
  void check(const Graph& other);
  // What stands in the way; each operator is named once.
  const std::vector<Reason>& reasons() const { return reasons_; }
  // Are there constants that grow with an open size, each the beginning of the next? Positions have such tables.
  bool has_tables() const { return !tables_.empty(); }
  // Their sizes in this graph, which was made for some size, one after the other.
  std::vector<Shape> table_shapes(const Graph& other) const;
  // Tables are as `largest`, made for the largest size, has them from here on.
  void lengthen_tables(const Graph& largest);
  // Repeated constants are held once from here on, and every shape is that which follows from these of the inputs.
  void finish(const std::vector<Shape>& inputs);

 private:
  // Sizes of an operator or of a table that are those of dimensions of another tensor.
  struct Source {
    TensorId tensor = TensorId::None;
    std::vector<int> dims;
  };
  struct Table {
    std::vector<int> alike;           // its dimensions along which all places are, held once
    std::vector<int> growing;         // and those that are cut
    Source source;                    // of their sizes
    TensorId whole = TensorId::None;  // the longest
  };

  bool same_operators(const Graph& other);
  void include_operator(size_t i, const Graph& other);
  void include_constant(size_t i, size_t input, const Graph& other);
  void open_sizes(size_t i, const Graph& other);
  int32_t scale_of(const fbs::OperatorT& op, int dim, const Graph& other) const;
  std::optional<Source> find_source(size_t i, TensorId tensor, const std::vector<int>& dims, const Graph& other) const;
  void give_reason(const fbs::OperatorT& op, const std::string& what);
  TensorId add_alike(TensorId tensor, const Shape& shape, const std::vector<double>& values);
  Tensor cut(const std::string& name, TensorId tensor);
  Tensor once(TensorId tensor);
  Tensor repeated(const std::string& name, TensorId tensor, Tensor like, int axis);

  Graph& graph_;
  int opset_;
  std::vector<Reason> reasons_;
  std::set<std::string> named_;  // operators that have a reason
  std::map<TensorId, std::vector<int>>
      repeat_;                         // constants' dimensions along which all places are alike and the size is open
  std::map<TensorId, TensorId> once_;  // such constants to those that hold each place once
  std::map<TensorId, Table> tables_;   // by the constant
  const Graph* third_ = nullptr;
};

}  // namespace ferry::onnx
