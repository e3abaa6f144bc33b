// One node of an ONNX graph, as its import function sees it. The function reads inputs and attributes, adds operators
// to the graph or computes a constant, and sets the outputs:
//
//     void softsign(Op& op) {
//       const Tensor x = op.tensor(0);
//       op.set(binary(Kind::Div, x, unary(fbs::UnaryKind::Abs, x) + 1.0));
//     }
//
// To add an operator, add such a function in converter/onnx/ops/ and a row in ops/table.cc.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "converter/graph/elementary.h"
#include "converter/graph/ops.h"
#include "converter/onnx/counted.h"
#include "converter/onnx/importer.h"

namespace ferry::onnx {

class Op {
 public:
  // `types`: of the inputs in the file. `decoder`: null unless the file's cache becomes states.
  Op(const Node& node, Graph& graph, std::vector<Value> inputs, std::vector<Type> types,
     const DecoderStates* decoder = nullptr)
      : decoder_(decoder),
        node_(node),
        graph_(graph),
        inputs_(std::move(inputs)),
        types_(std::move(types)),
        outputs_(node.outputs.size()),
        outputs_counted_(node.outputs.size()),
        output_types_(node.outputs.size(), Type::Undefined) {}

  const Node& node() const { return node_; }
  Graph& graph() const { return graph_; }
  int opset() const { return node_.opset; }

  const DecoderStates* decoder() const { return decoder_; }
  // Whether the graph will be made of several imports at different sizes, so that the operators should not depend on
  // sizes where that costs little.
  bool open_sizes() const { return add_table_ != nullptr; }
  void set_open_sizes(std::function<Tensor(const Array&)> add_table) { add_table_ = std::move(add_table); }
  // Whether attention in three dimensions has samples with one head; else, heads of one sample.
  bool leading_is_batch() const { return leading_is_batch_; }
  void set_leading_is_batch(bool is) { leading_is_batch_ = is; }
  // If sizes are open: a constant that grows with them, as a leading part of the next. No pass folds it.
  Tensor add_table(const Array& array) const { return add_table_(array); }

  size_t input_count() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && !node_.inputs[i].empty(); }
  // The name of input i. Refuses if it is missing.
  const std::string& input_name(size_t i) const;
  // Whether input i is a constant; whether all inputs are.
  bool known(size_t i) const { return has(i) && std::holds_alternative<Array>(inputs_[i]) && !open_.contains(i); }
  bool known() const;
  // Input i as a constant, at these sizes. Refuses with `what` ("the weight") if it depends on the graph's inputs.
  const Array& array(size_t i, const char* what) const;
  // Input i as a value of the graph: Float32, or Int32 for integers and booleans of the file. If all inputs are
  // constants, they are floating point here, and the result is converted to the file's type.
  Tensor tensor(size_t i);
  // Input i as Float32.
  Tensor floating(size_t i);
  // Input i, unconverted.
  const Value& value(size_t i);
  // The value of a constant input with one element.
  double single(size_t i, const char* what) const;
  Dims dims(size_t i) const;
  // Type of input i in the file.
  Type type(size_t i) const;
  int rank(size_t i) const { return static_cast<int>(dims(i).size()); }
  // The size of a dimension of the first output as the file states it; -1 if it does not.
  int64_t declared_size(size_t dimension) const;

  bool has_attribute(const std::string& name) const { return node_.attributes.contains(name); }
  int64_t integer(const std::string& name, int64_t otherwise) const;
  double number(const std::string& name, double otherwise) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  std::vector<int64_t> integers(const std::string& name, const std::vector<int64_t>& otherwise = {}) const;
  std::vector<double> numbers(const std::string& name) const;
  const Array& constant(const std::string& name) const;
  // For rules of older opsets (versions.h): the same elements in another shape.
  void reshape_input(size_t i, const Dims& to);
  void replace_input(size_t i, Tensor by) { inputs_[i] = by; }
  // For input i, a constant at these sizes: it is what `compute` adds, unless a function asks for the constant.
  // `varying`: its elements that differ between the sizes.
  void compute_in_run(size_t i, std::function<std::vector<bool>()> varying, std::function<Tensor()> compute);
  // Whether this element of input i differs between open sizes.
  bool varies(size_t i, size_t element) const;
  // The integers of input i, or of attribute `name` in older opsets; nothing if both are absent.
  std::optional<std::vector<int64_t>> input_or_attribute(size_t i, const std::string& name) const;
  // Resolves negative axes, which count from `rank`; refuses those out of range.
  int axis(int64_t axis, int rank) const;
  std::vector<int> axes(const std::vector<int64_t>& list, int rank) const;

  // Sets an output. Its type in the file is `type`; by default, that of the first input of the same kind (floating
  // point or not).
  void set(Value value, Type type = Type::Undefined) { set(0, std::move(value), type); }
  void set(size_t i, Value value, Type type = Type::Undefined);
  Type output_type(size_t i) const;
  bool wants(size_t output) const { return output < outputs_.size() && !node_.outputs[output].empty(); }
  const std::vector<Value>& outputs() const { return outputs_; }

  // What a run sets of input i; empty if it has known sizes.
  const Counted& counted(size_t i) const;
  void set_inputs_counted(std::vector<Counted> counted) { counted_ = std::move(counted); }
  // The sizes of an output's dimensions that a run sets. Set the output before.
  void set_counts(size_t i, std::vector<std::optional<Tensor>> sizes);
  // For an output that is a constant at the bounds: its value if all counts are 0, and its value in a run.
  void set_in_run(size_t i, Array least, Tensor in_run);
  const Counted& output_counted(size_t i) const { return outputs_counted_[i]; }
  // The elements of a constant input that follow from counts, each Int32 [1].
  std::vector<std::optional<Tensor>> elements_in_run(size_t i) const;
  // This node with other inputs: those that follow from counts are those of a run, or of counts of 0.
  Op at_counts(bool of_run) const;
  // Replaces inputs that follow from counts by those of a run.
  void use_sizes_in_run();

  // Ends the import of this node with a reason.
  [[noreturn, gnu::format(printf, 2, 3)]] void refuse(const char* format, ...) const;

 private:
  // An input that follows from open sizes.
  struct Open {
    Array at_these;
    std::function<std::vector<bool>()> varying;
    std::function<Tensor()> compute;
  };

  const Attribute* attribute(const std::string& name, Attribute::Kind kind) const;

  const DecoderStates* decoder_;
  const Node& node_;
  Graph& graph_;
  std::vector<Value> inputs_;
  std::vector<Type> types_;
  std::map<size_t, Tensor> constants_;  // constants of inputs, by index
  std::map<size_t, Open> open_;         // by the input's index
  std::function<Tensor(const Array&)> add_table_;
  bool leading_is_batch_ = false;
  std::vector<Value> outputs_;
  std::vector<Counted> counted_, outputs_counted_;
  std::vector<Type> output_types_;
};

using OpFunction = void (*)(Op&);

// What a function sees besides constants and tensors of Float32 and Int32.
enum class Reads : uint8_t {
  Plain,      // nothing
  Sequences,  // of tensors, and optional values without an element
  Int8,       // 8-bit integers with a scale (integers.h)
  Moved,      // likewise as input 0, of which it moves elements: it gets the real values
};

// A row of a domain's table: an operator and its function; without one, why it is refused.
struct OpRow {
  std::string_view op;
  OpFunction function;
  const char* refused = nullptr;
  Reads reads = Reads::Plain;
};

// The function for a node; null if it is not supported.
OpFunction find_op(const Node& node);
// What the function for a node sees.
Reads reads_of(const Node& node);
// For a node without a function: why, with its domain.
std::string why_unsupported(const Node& node);
// The operators of a domain: ONNX's (""), ONNX Runtime's ("com.microsoft"), or those created by patterns ("ferry").
std::span<const OpRow> operators_of(std::string_view domain);

// ---- shared by import functions

// `flags` (Int32, in the shape of input i) that are 0 in the padding of a counted input.
Tensor valid_flags(Op& op, size_t i, Tensor flags);

Dims dims_of(Tensor x);
// Throws Error for dimensions beyond 32 bits.
std::vector<int32_t> to_int32(const std::vector<int64_t>& list);
Tensor reshape_to(Tensor x, const Dims& dims);
// Ferry's type for a type of the file.
fbs::DType to_dtype(Type type);
// Wraps integers of fewer than 32 bits; other types are unchanged.
Tensor wrapped(Tensor x, Type type);
// N,C,H,W to N,H,W,C and back.
Tensor to_channels_last(Tensor x);
Tensor to_channels_first(Tensor x);
// For operators over the last dimension: swaps `axis` with it. Its own inverse.
Tensor swap_with_last(Tensor x, int axis);
// Adds a constant, without a copy if the graph supports its type; integers and booleans become Int32.
Tensor add_constant(Graph& graph, const std::string& name, const Array& array);

}  // namespace ferry::onnx
