// Merges graphs of one network, imported at different input sizes, into one for all sizes.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "converter/onnx/importer.h"
#include "sdk/operators/size_code.h"

namespace ferry::onnx {

// Adds a constant with the name and type of another tensor.
TensorId add_alike(Graph& graph, TensorId tensor, const Shape& shape, const std::vector<double>& values);

class Generaliser {
 public:
  // `graph`, imported at one size, is generalised in place to compute what `others`, imported at other sizes, compute.
  // `opset`: of the file, for reasons. `computed`: constants that may be activations to every operator that reads them.
  // `grids`: whether constants may grow in several dimensions.
  Generaliser(Graph& graph, const std::vector<const Graph*>& others, int opset, std::set<TensorId> computed,
              bool grids);

  // Generalises the graph.
  void include();
  // Whether several multiples explain how far values are padded at these sizes: more sizes tell which.
  bool has_ambiguous_padding() const;
  // Adds reasons unless the graph, at the size of `other`, equals `other` or rejects that size.
  void check(const Graph& other);
  // Obstacles; each operator is named once.
  const std::vector<Reason>& reasons() const { return reasons_; }
  // Whether there are tables: constants that grow with an open size, each a leading part of the next (position
  // embeddings), other than arithmetic progressions, which need no graph to go on.
  bool has_tables() const;
  // Shapes of these tables in `other`, in order.
  std::vector<Shape> table_shapes(const Graph& other) const;
  // Replaces these tables by those of `largest`, imported at the maximum size.
  void lengthen_tables(const Graph& largest);
  // Continues the others.
  void lengthen_progressions();
  // Stores repeated constants once, and derives every shape from the shapes `inputs`.
  void finish(const std::vector<Shape>& inputs);

 private:
  // The tensor whose dimensions, or parts of them, determine sizes of an operator or of a table.
  struct Source {
    TensorId tensor = TensorId::None;
    std::vector<SizeCode> sizes = {};
    std::vector<int32_t> left = {};  // what a table has fewer of
  };
  struct Table {
    std::vector<int> alike;           // dimensions along which all values are equal, stored once
    std::vector<Source> repeats;      // of their sizes, if a run repeats the values
    std::vector<int> growing;         // dimensions that are sliced
    Source source;                    // of their sizes
    bool progression = false;         // goes on as it begins, in equal steps
    TensorId whole = TensorId::None;  // the longest version
  };

  static bool needs_graph(const Table& table);
  bool same_operators(const Graph& other);
  Shape shape_at(const fbs::OperatorT& op, TensorId constant, const Graph& other,
                 const std::map<TensorId, Shape>& shapes) const;
  void include_operator(size_t i);
  std::vector<int32_t> multiples_of(size_t i, int d) const;
  void include_constant(size_t i, size_t input);
  void open_begin(size_t i);
  void open_padding(size_t i);
  void open_sizes(size_t i);
  int32_t scale_of(const fbs::OperatorT& op, int dim) const;
  bool add_size(Source* source, int32_t divisor, int32_t max_left, TensorId tensor, int dim) const;
  std::optional<Source> find_source(size_t i, TensorId tensor, const std::vector<int>& dims,
                                    int32_t max_left = 0) const;
  void give_reason(const fbs::OperatorT& op, const std::string& what);
  TensorId whole_table(TensorId tensor, const Shape& shape, const std::vector<double>& values);
  bool find_sources(size_t i, TensorId tensor, bool repeats_in_run, Table* table) const;
  Tensor in_run(const std::string& name, TensorId tensor);
  Tensor cut(const std::string& name, const Table& table);
  Tensor once(TensorId tensor, const std::vector<int>& along);
  Tensor repeated(const std::string& name, TensorId tensor, Tensor like, int axis);
  Tensor repeated_to(const std::string& name, Tensor value, int dim, const Source& source);
  // Whether this holds for the graph and all others.
  template <typename Predicate>
  bool everywhere(Predicate holds) const {
    return holds(graph_) && std::all_of(others_.begin(), others_.end(), [&](const Graph* g) { return holds(*g); });
  }

  Graph& graph_;
  int opset_;
  bool grids_;
  std::set<TensorId> computed_;
  std::vector<Reason> reasons_;
  std::set<std::string> named_;                  // operators with a reason
  std::map<TensorId, std::vector<int>> repeat_;  // open dimensions of constants along which all values are equal
  std::map<TensorId, TensorId> once_;            // such constants, to those without repetitions
  std::map<TensorId, Table> tables_;             // by the constant
  std::vector<TensorId> wholes_;                 // of tables; equal ones are one
  std::vector<const Graph*> others_;             // of other sizes
};

}  // namespace ferry::onnx
