// One operator of a .tflite file, as its import function sees it. The function reads inputs and options, adds operators
// to the graph, and sets the outputs:
//
//     void leaky_relu(Op& op) {
//       op.set(ferry::leaky_relu(op.tensor(0), op.options<schema::LeakyReluOptions>().alpha()));
//     }
//
// To add an operator, add such a function in converter/tflite/ops/ and a row in operators.cc.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "converter/graph/elementary.h"
#include "converter/graph/ops.h"
#include "converter/tflite/constants.h"
#include "converter/tflite/detection_head.h"
#include "converter/tflite/file.h"
#include "converter/tflite/variables.h"

namespace ferry::tflite {

// What the subgraphs of a file that run one another share.
struct Shared {
  explicit Shared(Graph& g) : graph(g), variables(g) {}

  Graph& graph;
  Variables variables;
  std::optional<DetectionHead> detection_head = {};
  // Constants of the file by subgraph and tensor: a subgraph that is run more than once reads the same.
  std::map<std::pair<int, int>, Tensor> constants = {}, float16_weights = {};
  int64_t computed = 0;  // elements of constants that the file does not hold
  int64_t nested = 0;    // operators and tensors of subgraphs, each time that one is run
};

// A value that one subgraph passes to another: a tensor, or the name of a variable.
struct Passed {
  std::optional<Tensor> value;
  std::string variable = {};
};

// The values of the file's tensors during import. Constants enter the graph when they are first read.
class Values {
 public:
  // `callers`: the subgraphs that run this one, outermost first.
  Values(const File& file, Shared& shared, std::vector<int> callers = {})
      : file_(file), shared_(shared), callers_(std::move(callers)), values_(count(file.graph->tensors())) {}

  const File& file() const { return file_; }
  Graph& graph() const { return shared_.graph; }
  Shared& shared() const { return shared_; }
  const std::vector<int>& callers() const { return callers_; }
  // Rounds the value as the tensor's scale says, if it has one.
  void set(int tensor, Tensor value);
  // Makes `tensor` another name of a constant of the file.
  void set_alias(int tensor, int constant) { aliases_[tensor] = named(constant); }
  // Whether it has a value: that of a constant, or of an operator that was imported; a variable's handle has one, too.
  bool has(int tensor) const {
    return values_[static_cast<size_t>(tensor)] || is_constant(tensor) || is_handle(tensor);
  }
  // Whether it is a state that the interpreter keeps between runs, zero at first.
  bool is_variable(int tensor) const { return file_.tensor(tensor).is_variable(); }
  // Whether the file holds it.
  bool is_constant(int tensor) const { return !file_.bytes(named(tensor)).empty(); }
  Tensor get(int tensor);
  // As get(), but constants of float16 may stay so.
  Tensor weight(int tensor);
  // Makes `tensor` stand for the variable `name`.
  void set_handle(int tensor, const std::string& name) { handles_[tensor] = name; }
  bool is_handle(int tensor) const { return handles_.contains(tensor); }
  const std::string& variable_of(int handle) const { return handles_.at(handle); }
  Passed passed(int tensor);
  void set_passed(int tensor, const Passed& passed);
  // Counts elements of constants that the file does not hold. Throws Error if all together are too many: a small file
  // must not be able to request unlimited memory.
  void count_computed(int64_t elements);

 private:
  const File& file_;
  Shared& shared_;
  const std::vector<int> callers_;
  int named(int tensor) const {
    const auto alias = aliases_.find(tensor);
    return alias == aliases_.end() ? tensor : alias->second;
  }

  Tensor constant(int tensor, Half half, std::map<std::pair<int, int>, Tensor>* kept) const;

  std::vector<std::optional<Tensor>> values_;
  std::map<int, int> aliases_;
  std::map<int, std::string> handles_;
};

class Op {
 public:
  Op(Values& values, const schema::Operator& op) : values_(values), op_(op) {}

  Graph& graph() const { return values_.graph(); }
  void count_computed(int64_t elements) const { values_.count_computed(elements); }
  size_t input_count() const { return count(op_.inputs()); }
  size_t output_count() const { return count(op_.outputs()); }
  bool has(size_t i) const { return i < input_count() && index(i) >= 0; }
  // Whether input i is a constant, of the file or by folding; whether all inputs are.
  bool known(size_t i) const;
  bool known() const;
  // Whether input i is a constant of the file.
  bool is_constant(size_t i) const { return has(i) && values_.is_constant(index(i)); }

  // Input i: Float32, or Int32 for integers and booleans of the file.
  Tensor tensor(size_t i) const;
  // Input i, a constant, of Float32 or Float16: `what` ("the filter") must not depend on the graph's inputs.
  Tensor weight(size_t i, const char* what) const;
  Shape shape(size_t i) const { return tensor(i).shape(); }
  // The elements of input i, which must be known.
  std::vector<int64_t> integers(size_t i, const char* what) const;
  // Of input i, which must be known and have one element.
  int64_t integer(size_t i, const char* what) const;
  // Of a constant with one element.
  double number(size_t i, const char* what) const;
  schema::TensorType type(size_t i) const;
  schema::TensorType output_type(size_t i) const;
  // Whether it is integers with a scale in the file.
  bool is_quantised(size_t i) const;
  bool is_output_quantised(size_t i) const;

  template <typename Options>
  const Options& options() const {
    const Options* found = op_.builtin_options_as<Options>();
    if (found == nullptr) refuse("its options are missing");
    return *found;
  }
  std::span<const uint8_t> custom_options() const;

  // Resolves negative axes, which count from `rank`; refuses those out of range.
  int axis(int64_t axis, int rank) const;

  void set(Tensor value) { set(0, value); }
  void set(size_t i, Tensor value);
  void set_detection_head(const DetectionHead& head) { values_.shared().detection_head = head; }
  const File& file() const { return values_.file(); }
  Values& values() const { return values_; }
  const schema::Operator& operator_of_file() const { return op_; }
  Variables& variables() const { return values_.shared().variables; }
  // Output 0 becomes a variable's handle.
  void set_handle(const std::string& name) const;
  // The name of input i, which must be a variable.
  const std::string& variable(size_t i) const;
  // The value of input i, a tensor that the operator changes in every run; set_state() gives the new one.
  Tensor state(size_t i) const;
  void set_state(size_t i, Tensor value) const { variables().assign(values_.variable_of(index(i)), value); }
  // Whether input i is such a tensor.
  bool is_state(size_t i) const { return has(i) && values_.is_variable(index(i)); }
  Passed passed(size_t i) const;
  void set_passed(size_t i, const Passed& passed) const;
  Shape output_shape(size_t i) const;
  // Makes output 0 another name of input 0, a constant of the file, whose bytes then stay in the file.
  void set_alias();
  bool is_set(size_t i) const { return values_.has(op_.outputs()->Get(static_cast<unsigned>(i))); }

  // Ends the import of this operator with a reason.
  [[noreturn, gnu::format(printf, 2, 3)]] void refuse(const char* format, ...) const;

 private:
  int index(size_t i) const { return op_.inputs()->Get(static_cast<unsigned>(i)); }

  Values& values_;
  const schema::Operator& op_;
};

// ---- shared by import functions

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<int32_t> dims_of(Tensor x);
// A reshape that copies the first dimension if it stays the same: the graph then takes batches of other sizes.
Tensor reshape_to(Tensor x, std::vector<int32_t> dims);
// The elements of x along `axis` whose `count` indices `index_of` returns, each counted as a computed element.
Tensor pick(const Op& op, Tensor x, int axis, int64_t count, const std::function<int64_t(int64_t)>& index_of);
// Pads with `value`; x itself if there is nothing to pad.
Tensor pad(Tensor x, const std::vector<int32_t>& before, const std::vector<int32_t>& after, double value = 0);
// Refuses activations that no operator of Ferry computes.
Tensor activated(const Op& op, Tensor x, schema::ActivationFunctionType function);

}  // namespace ferry::tflite
