// One import: walks the nodes of a file and adds them to a graph. importer.cc: inputs, nodes and outputs;
// import_bodies.cc: graphs inside nodes; import_loops.cc: bodies that stay loops; import_open.cc: what follows from
// open sizes.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "converter/onnx/importer.h"
#include "converter/onnx/op.h"

namespace ferry::onnx {

using Typed = std::pair<Value, Type>;  // with its type in the file

// Maximum number of nodes that the iterations of all loops become.
inline constexpr size_t kMaxUnrolledNodes = 10000;

// A Loop or a Scan, in the names and values of its node.
struct Repeated {
  // Inputs of which the body sees a slice per step; outputs that a step adds a slice to.
  struct Slices {
    std::string name;  // in the body
    int64_t axis = 0;
    bool reversed = false;
    Typed all = {};  // of an input
  };

  Value count;                   // the number of steps: one integer; unknown: there is no limit but the condition
  std::optional<int64_t> limit;  // its maximum; nothing: there is none
  bool unrolls = false;          // the limit is known, so that the steps can be imported one by one
  std::string index, going;      // what the body calls the number of a step and the condition; "": it has none
  std::string condition;         // what the body calls the next condition; "": it has none
  std::vector<std::string> states, next_states;  // in the body
  std::vector<Typed> initial;                    // of the states
  std::vector<Slices> scanned, stacked;
};

// What a loop gives: the states after it, what it stacked, and the number of steps.
struct LoopResults {
  std::vector<Typed> states, stacked;
  Tensor count;
  bool counted = false;  // the run sets the number of steps
};

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options)
      : model_(model), options_(options), graph_(std::make_unique<Graph>()) {
    for (const auto& [name, value] : options.taps) taps_[value].push_back(name);
    for (const ValueInfo& output : model.outputs) output_names_.insert(output.name);
  }

  Imported import();

 private:
  void add_input(const ValueInfo& input);
  void add_decoder();
  bool add_decoder_input(const ValueInfo& input);
  void add_node(const Node& node);
  void add_branch(const Node& node);
  std::optional<Typed> selected(Tensor condition, const Typed& a, const Typed& b);
  void add_both_branches(const Node& node, Tensor condition);
  void add_loop(const Node& node);
  void add_scan(const Node& node);
  void unroll_loop(const Node& node, const Repeated& loop);
  void unroll_scan(const Node& node, const Repeated& loop);
  void add_sequence_map(const Node& node);
  std::optional<LoopResults> add_repeated(const Node& node, const Repeated& loop);
  LoopResults add_between(const Node& node, const Repeated& loop);
  std::optional<int64_t> limit_of_steps(const Node& node) const;
  std::optional<Repeated> loop_of(const Node& node);
  std::optional<Repeated> scan_of(const Node& node);
  bool keeps_loop(const Node& node, const Repeated& loop);
  void set_results(const Node& node, const Repeated& loop, const LoopResults& results);
  bool refuses_counted(const Node& node, const std::vector<std::string>& names);
  bool add_body(const Node& node, const std::vector<Typed>& inputs);
  std::vector<Typed> values_of(std::span<const std::string> names);
  void set_value(const std::string& name, const Typed& value) {
    values_[name] = value.first;
    types_[name] = value.second;
    counted_.erase(name);
  }
  Value plain(const Value& value, Type type);
  std::optional<Tensor> give_integers(const Node& node, std::vector<Value>* inputs, std::vector<Type>* types);
  void fold(Op* op, size_t first);
  Tensor add_table(const Array& array);
  Tensor add_size(const Array& size);
  Tensor compute_in_run(const std::string& name);
  // Which known inputs a run computes: those that follow from sizes but for tables; those; or all.
  enum class Opened : uint8_t { WithoutTables, WithTables, Everything };
  void set_open(Op* op);
  void open_inputs(Op* op, Opened opened);
  std::vector<Value> outputs_in_run(const Node& node, Opened opened);
  void add_constants(const Branch& branch);
  void add_taps(const std::string& name);
  void add_output(const ValueInfo& output, Tensor value);
  void add_outputs();
  void add_counts();
  void give_reason(const Node& node, const std::string& what) {
    reasons_.push_back({node.op, node.name, node.opset, what});
  }

  const Model& model_;
  const ImportOptions& options_;
  std::unique_ptr<Graph> graph_;
  std::map<std::string, Value> values_;
  std::map<std::string, Counted> counted_;  // sizes that a run sets
  std::map<std::string, Type> types_;       // types of computed values in the file
  std::map<std::string, Array> known_outputs_;
  std::vector<std::pair<size_t, std::vector<std::optional<Tensor>>>> output_sizes_;  // of counted outputs, by index
  std::vector<Reason> reasons_;
  std::map<std::string, std::vector<std::string>> taps_;  // names by the value
  std::set<std::string> output_names_;
  std::set<TensorId> inputs_, outputs_;  // of the graph
  std::map<TensorId, Tensor> int32_;     // what Int8 tensors are to functions that do not read them
  std::map<std::string, std::pair<const Node*, size_t>> producers_;  // and which output, by the value
  std::map<std::string, Tensor> in_run_;  // values that follow from open sizes, as a run computes them
  std::map<std::string, Array> tables_;   // Imported::tables
  bool folded_ = false;                   // operators of known nodes
  size_t unrolled_ = 0;                   // nodes of iterations
  size_t loops_ = 0;                      // that are open
  size_t entered_ = 0;                    // constants of branches and bodies, each time they are entered
};

}  // namespace ferry::onnx
