// Merges graphs of one network, imported at different input sizes, into one for all sizes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "converter/onnx/importer.h"
#include "sdk/operators/size_code.h"

namespace ferry::onnx {

class Generaliser {
 public:
  // `graph`, imported at one size, is generalised in place. `opset`: of the file, for reasons.
  Generaliser(Graph& graph, int opset) : graph_(graph), opset_(opset) {}

  // Generalises the graph so that it also computes what `other` computes at its own size. `third`, a graph of a third
  // size or null, distinguishes multiples of other sizes from coincidences.
  void include(const Graph& other, const Graph* third);
  // Adds reasons unless the graph, at the size of `other`, equals `other` or rejects that size.
  void check(const Graph& other);
  // Obstacles; each operator is named once.
  const std::vector<Reason>& reasons() const { return reasons_; }
  // Whether there are tables: constants that grow with an open size, each a leading part of the next (position
  // embeddings).
  bool has_tables() const { return !tables_.empty(); }
  // Shapes of the tables in `other`, in order.
  std::vector<Shape> table_shapes(const Graph& other) const;
  // Replaces the tables by those of `largest`, imported at the maximum size.
  void lengthen_tables(const Graph& largest);
  // Stores repeated constants once, and derives every shape from the shapes `inputs`.
  void finish(const std::vector<Shape>& inputs);

 private:
  // The tensor whose dimensions, or parts of them, determine sizes of an operator or of a table.
  struct Source {
    TensorId tensor = TensorId::None;
    std::vector<SizeCode> sizes;
  };
  struct Table {
    std::vector<int> alike;           // dimensions along which all values are equal, stored once
    std::vector<int> growing;         // dimensions that are sliced
    Source source;                    // of their sizes
    TensorId whole = TensorId::None;  // the longest version
  };

  bool same_operators(const Graph& other);
  void include_operator(size_t i, const Graph& other);
  void include_constant(size_t i, size_t input, const Graph& other);
  void open_begin(size_t i, const Graph& other);
  void open_padding(size_t i, const Graph& other);
  void open_sizes(size_t i, const Graph& other);
  int32_t scale_of(const fbs::OperatorT& op, int dim, const Graph& other) const;
  std::optional<SizeCode> size_in(TensorId value, int32_t divisor, TensorId tensor, int dim, const Graph& other) const;
  std::optional<Source> find_source(size_t i, TensorId tensor, const std::vector<int>& dims, const Graph& other) const;
  void give_reason(const fbs::OperatorT& op, const std::string& what);
  TensorId whole_table(TensorId tensor, const Shape& shape, const std::vector<double>& values,
                       std::vector<TensorId>* wholes);
  TensorId add_alike(TensorId tensor, const Shape& shape, const std::vector<double>& values);
  Tensor cut(const std::string& name, TensorId tensor);
  Tensor once(TensorId tensor);
  Tensor repeated(const std::string& name, TensorId tensor, Tensor like, int axis);
  Tensor spread(const std::string& name, TensorId tensor);

  // A constant that a run repeats to the sizes of another tensor.
  struct Spread {
    std::vector<int> alike;
    Source source;  // of the sizes of these dimensions
  };

  Graph& graph_;
  int opset_;
  std::vector<Reason> reasons_;
  std::set<std::string> named_;                  // operators with a reason
  std::map<TensorId, std::vector<int>> repeat_;  // open dimensions of constants along which all values are equal
  std::map<TensorId, TensorId> once_;            // such constants, to those without repetitions
  std::map<TensorId, Spread> spread_;            // by the constant
  std::map<TensorId, Table> tables_;             // by the constant
  const Graph* third_ = nullptr;
};

}  // namespace ferry::onnx
