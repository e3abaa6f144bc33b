// The converter's graph: the object API of the blob schema (fbs::GraphT), plus the constants' data, which a blob stores
// outside of the flatbuffer.
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

// A value of a graph: cheap to copy; the graph must outlive it.
struct Tensor {
  Graph* graph = nullptr;
  TensorId id = TensorId::None;

  Shape shape() const;
  // Float32 or Int32.
  fbs::DType dtype() const;
};

// Memory of a graph that persists between runs: sdk/schema/ferry.fbs, `State`. Cheap to copy; the graph must outlive
// it.
struct State {
  Graph* graph = nullptr;
  uint32_t index = 0;  // in the graph's states
};

// A constant: its bytes and their owner (a mapped checkpoint or a vector), or a function that computes them on demand,
// so that a graph need not hold data derived from its checkpoint. During conversion, constants may be Float64 to keep
// folding exact; packing narrows them according to --weights.
struct Constant {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  // if not empty: called when the bytes will not be read again soon, to release memory
  std::function<void()> done = {};
  // If not empty: computes `size` bytes, always the same. Constants with the same `owner` have the same bytes.
  std::function<Constant()> compute = {};
  size_t size = 0;
  // If not empty: computes the bytes [begin, begin + count) of what `compute` does, in memory of that order.
  std::function<Constant(size_t begin, size_t count)> compute_part = {};
  size_t part_unit = 1;  // parts of multiples of so many bytes compute nothing twice

  size_t byte_count() const { return compute ? size : bytes.size(); }
  Constant read() const { return compute ? compute() : *this; }
  Constant read_part(size_t begin, size_t count) const;
};

// Calls `visit` with consecutive parts of a constant's bytes, each a multiple of `unit` bytes and about 1 MB long,
// so that a large constant is never in memory whole. `begin`: of the part.
void read_in_parts(const Constant& constant, size_t unit,
                   const std::function<void(std::span<const std::byte> part, size_t begin)>& visit);

// A constant with these values.
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

  // Adds a graph input, channels last. `source`: its type in the framework; integers and booleans are Int32 here.
  Tensor add_input(const std::string& name, const Shape& shape, fbs::Layout source_layout,
                   fbs::DType source = fbs::DType::Float32);
  void add_output(const std::string& name, Tensor value, fbs::Layout source_layout,
                  fbs::DType source = fbs::DType::Float32);

  // Names a value for parity checks. A value may have several names; two values with one name are an Error. `block`:
  // the output of a block, which fusion keeps in every blob.
  void add_tap(const std::string& name, Tensor value, fbs::Layout source_layout, bool block);

  // Adds a state of maximum shape `shape`. append() extends it along dimension `axis`; the dimensions before it must be
  // 1. kFixed: the size is fixed, and operators overwrite the whole state. `window`: only attention() with at most this
  // window reads the state, so that older elements may be dropped. Graphs of one blob share states of the same name
  // (pack.h).
  static constexpr int kFixed = -1;
  State add_state(const std::string& name, const Shape& shape, int axis, fbs::DType dtype = fbs::DType::Float32,
                  int window = 0);

  Tensor add_constant(const std::string& name, fbs::DType dtype, const Shape& shape, Constant data);
  Tensor add_constant(const std::string& name, const Shape& shape, std::vector<double> values);
  Tensor add_constant(const std::string& name, const Shape& shape, std::vector<float> values);
  Tensor add_constant(const std::string& name, const Shape& shape, std::vector<int32_t> values);

  // Appends an operator. Shape and type of its output follow from the rules (sdk/operators/shape_rules.h,
  // type_rules.h). Throws Error with the operator's name if the inputs do not fit.
  template <typename Params>  // fbs::Conv2dT, fbs::UnaryT...
  Tensor add_op(const std::string& name, Params params, const std::vector<Tensor>& inputs) {
    return add_op_with_outputs(name, std::move(params), inputs, 1).front();
  }
  // The same for an operator with `count` outputs (fbs::TopKT).
  template <typename Params>
  std::vector<Tensor> add_op_with_outputs(const std::string& name, Params params, const std::vector<Tensor>& inputs,
                                          size_t count) {
    auto op = std::make_unique<fbs::OperatorT>();
    op->name = name;
    op->params.Set(std::move(params));
    for (const Tensor& t : inputs) op->inputs.push_back(t.id);
    return append(std::move(op), count);
  }

  // A copy that shares the constants.
  std::unique_ptr<Graph> copy();
  // Replaces the graph by a blob's table and its segments, by TensorT::buffer; segment 0 is empty.
  void adopt(fbs::GraphT blob, std::vector<Constant> segments);
  // Adds another finished graph (after the passes) of the same blob to table.graphs. Constants with the same memory are
  // merged, and so are states of the same name; throws Error if such states differ. Provenance and tokenizer, which
  // belong to the blob, are this graph's.
  void add_graph(Graph&& other);

  // For passes: turns an activation without a producer into a constant.
  void make_constant(TensorId tensor, std::vector<double> values);
  // The same with data of the type `dtype`, which may be computed on demand.
  void make_constant(TensorId tensor, fbs::DType dtype, Constant data);
  // Replaces a buffer by integers with scales, for all constants that use it in any graph. `type`: of the integers;
  // `of_blocks`: of the scales, if the type has blocks. Adds the tensors of the scales.
  void store_integers(uint32_t buffer, const Type& type, Constant integers, Constant scales,
                      fbs::DType of_blocks = fbs::DType::BFloat16);
  // Replaces the bytes of a buffer by as many others, for all constants that use it in any graph.
  void replace_data(uint32_t buffer, Constant data) { constants_[buffer] = std::move(data); }
  // Of an Int8 value, or of an Int8 constant that is an operand like one: what its integers stand for. An operator that
  // moves Int8 elements sets its output's; others leave it to the caller.
  void set_quantization(TensorId tensor, float scale, int zero_point);
  // For passes: releases the data of an unused constant. The tensor remains, unusable, until compact().
  void forget_constant(TensorId tensor);
  // For passes: removes the tensors whose entry in `keep` is false and renumbers the others. Removed tensors must not
  // be referenced.
  void compact(const PerTensor<bool>& keep);

  // The states for the shape rules, all empty.
  std::vector<StateShape> state_shapes() const;

  Shape shape(TensorId tensor) const;
  // Int32, or Float32 for all floating-point types.
  fbs::DType dtype(TensorId tensor) const;
  // The type for the type rules, with the scales of a quantized constant.
  Type type(TensorId tensor) const;
  bool is_constant(TensorId tensor) const { return at(tensor).buffer != 0; }
  // Computes it, if it is computed on demand.
  Constant constant(TensorId tensor) const;
  // By TensorT::buffer, of this graph or its graphs. Does not compute it.
  const Constant& buffer(uint32_t index) const { return constants_[index]; }
  // Of a tensor. Does not compute it: derived constants keep this form.
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

// The type of a tensor of a graph.
inline Type type_of(const fbs::TensorT& tensor) {
  const fbs::QuantizationT* q = tensor.quantization.get();
  if (q == nullptr) return {tensor.dtype};
  return {tensor.dtype, true, q->scale, q->axis, q->block, q->zero_point, q->float_scale};
}

// The tables of a blob's first graph and of its other graphs.
template <typename Table>  // fbs::GraphT, const or not
std::vector<Table*> tables_of(Table& root) {
  std::vector<Table*> tables = {&root};
  for (const auto& graph : root.graphs) tables.push_back(graph.get());
  return tables;
}

// The first graph with the others added.
std::unique_ptr<Graph> joined(std::vector<std::unique_ptr<Graph>> graphs);

// An operator serialized as in a blob, the form that sdk/'s rules and the reference interpreter read. Valid while this
// object lives.
class SerializedOp {
 public:
  explicit SerializedOp(const fbs::OperatorT& op);
  const fbs::Operator& operator*() const;

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace ferry
