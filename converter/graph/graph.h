// The converter's graph: the blob schema's own object types (fbs::GraphT), plus the constants' data, which in a blob
// lies outside the flatbuffer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converter/error.h"
#include "ferry_generated.h"
#include "sdk/model/per_tensor.h"
#include "sdk/operators/shape.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type.h"

namespace ferry {

class Graph;

// A value of a graph: cheap to copy, valid while the graph lives.
struct Tensor {
  Graph* graph = nullptr;
  TensorId id = TensorId::None;

  Shape shape() const;
  // Float32 or Int32.
  fbs::DType dtype() const;
};

// Memory of a graph that outlives a run: sdk/schema/ferry.fbs, `State`. Cheap to copy, valid while the graph lives.
struct State {
  Graph* graph = nullptr;
  uint32_t index = 0;  // in the graph's states
};

// A constant's bytes and whatever keeps them alive (a mapped checkpoint or a vector), or how to compute them when they
// are asked for: a graph need not hold what follows from its checkpoint. During conversion constants may be Float64, so
// that folding is exact; packing narrows them to what --weights asks for.
struct Constant {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  std::function<void()> done = {};  // not empty: the bytes will not be read again soon, their memory may go
  // Not empty: gives `size` bytes, the same ones each time. What has the same `owner`, if any, gives the same.
  std::function<Constant()> compute = {};
  size_t size = 0;

  size_t byte_count() const { return compute ? size : bytes.size(); }
  Constant read() const { return compute ? compute() : *this; }
};

// The bytes of these values.
template <typename T>
Constant hold(std::vector<T> values) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  return {.owner = owner, .bytes = std::as_bytes(std::span(*owner))};
}
// A constant's elements, widened to double. `name`: for messages.
std::vector<double> values_of(const Constant& constant, fbs::DType dtype, const std::string& name);

class Graph {
 public:
  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  fbs::GraphT table;  // tensors, operators, inputs, outputs, taps, preprocessing, task

  // A graph input, channels last. `source`: its type in the framework; integers and truth values are Int32 here.
  Tensor add_input(const std::string& name, const Shape& shape, fbs::Layout source_layout,
                   fbs::DType source = fbs::DType::Float32);
  void add_output(const std::string& name, Tensor value, fbs::Layout source_layout,
                  fbs::DType source = fbs::DType::Float32);

  // Names a value that parity can look at. A value may have several names; one name for two values is an Error.
  // `block`: the output of a block, which fusion keeps in every blob.
  void add_tap(const std::string& name, Tensor value, fbs::Layout source_layout, bool block);

  // Memory of this shape at its largest, which append() fills along dimension `axis`; the dimensions before it are 1.
  // Of fixed size with kFixed: operators that say so give all of it anew. With a window attention() alone reads it, by
  // no larger one, and what lies before need not be kept. Graphs of one blob share the states that have one name
  // (pack.h).
  static constexpr int kFixed = -1;
  State add_state(const std::string& name, const Shape& shape, int axis, fbs::DType dtype = fbs::DType::Float32,
                  int window = 0);

  Tensor add_constant(const std::string& name, fbs::DType dtype, const Shape& shape, Constant data);
  Tensor add_constant(const std::string& name, const Shape& shape, std::vector<double> values);
  Tensor add_constant(const std::string& name, const Shape& shape, std::vector<float> values);
  Tensor add_constant(const std::string& name, const Shape& shape, std::vector<int32_t> values);

  // Appends an operator whose output's shape and type follow from its rules (sdk/operators/shape_rules.h,
  // type_rules.h); throws Error, naming the operator, where the inputs do not fit.
  template <typename Params>  // fbs::Conv2dT, fbs::UnaryT...
  Tensor add_op(const std::string& name, Params params, const std::vector<Tensor>& inputs) {
    return add_op_with_outputs(name, std::move(params), inputs, 1).front();
  }
  // The same for an operator of which `count` outputs are wanted (fbs::TopKT).
  template <typename Params>
  std::vector<Tensor> add_op_with_outputs(const std::string& name, Params params, const std::vector<Tensor>& inputs,
                                          size_t count) {
    auto op = std::make_unique<fbs::OperatorT>();
    op->name = name;
    op->params.Set(std::move(params));
    for (const Tensor& t : inputs) op->inputs.push_back(t.id);
    return append(std::move(op), count);
  }

  // The same graph again, over the same constants.
  std::unique_ptr<Graph> copy();
  // Another graph for the same blob, finished like this one (passes and all): it becomes one of table.graphs. Constants
  // that are the same memory are one, and states of one name; throws Error where those differ. What belongs to the
  // whole blob, the provenance and the tokenizer, is this graph's.
  void add_graph(Graph&& other);

  // For passes: an activation whose producer is gone becomes a constant.
  void make_constant(TensorId tensor, std::vector<double> values);
  // What stands in a buffer becomes integers with scales, for every constant in it, whichever graph's. `type`: of the
  // integers; the scales' tensors are added here.
  void store_integers(uint32_t buffer, const Type& type, Constant integers, Constant scales);
  // For passes: forgets a constant's data once nothing uses it. The tensor stays, unusable, until compact().
  void forget_constant(TensorId tensor);
  // For passes: removes the tensors whose entry in `keep` is false and renumbers the rest. Nothing may refer to them.
  void compact(const PerTensor<bool>& keep);

  // As the shape rules see them, all of them empty.
  std::vector<StateShape> state_shapes() const;

  Shape shape(TensorId tensor) const;
  // Int32, or Float32, which constants of any precision count as.
  fbs::DType dtype(TensorId tensor) const;
  // The same, as type rules want it: with the scales of a quantised constant.
  Type type(TensorId tensor) const;
  bool is_constant(TensorId tensor) const { return at(tensor).buffer != 0; }
  // Computed, where it is one that is computed when asked for.
  Constant constant(TensorId tensor) const;
  // By TensorT::buffer, of this graph's tensors and those of the graphs in it. Not computed.
  const Constant& buffer(uint32_t index) const { return constants_[index]; }
  // A tensor's. Not computed: what constants that follow from it keep.
  const Constant& source(TensorId tensor) const { return buffer(at(tensor).buffer); }
  // A constant's elements, widened to double.
  std::vector<double> values(TensorId tensor) const;
  fbs::TensorT& at(TensorId tensor) { return *table.tensors[index_of(tensor)]; }
  const fbs::TensorT& at(TensorId tensor) const { return *table.tensors[index_of(tensor)]; }
  TensorIds tensors() const { return TensorIds(table.tensors.size()); }

 private:
  std::vector<Tensor> append(std::unique_ptr<fbs::OperatorT> op, size_t outputs);
  TensorId add_tensor(const std::string& name, fbs::DType dtype, const Shape& shape, uint32_t buffer);

  std::vector<Constant> constants_;  // by TensorT::buffer; [0] is empty
};

// The table of a blob's first graph, and those of the graphs in it.
template <typename Table>  // fbs::GraphT, const or not
std::vector<Table*> tables_of(Table& root) {
  std::vector<Table*> tables = {&root};
  for (const auto& graph : root.graphs) tables.push_back(graph.get());
  return tables;
}

// The operator as the blob would hold it: sdk/ rules and the oracle read this form. Valid while the object lives.
class SerializedOp {
 public:
  explicit SerializedOp(const fbs::OperatorT& op);
  const fbs::Operator& operator*() const;

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace ferry
