// One import: walks the nodes of a file and adds them to a graph. importer.cc: inputs, nodes and outputs;
// import_bodies.cc: graphs inside nodes.
#pragma once

#include <optional>
#include <span>
#include <utility>

#include "converter/onnx/importer.h"
#include "converter/onnx/op.h"

namespace ferry::onnx {

using Typed = std::pair<Value, Type>;  // with its type in the file

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
  void add_sequence_map(const Node& node);
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
  bool folded_ = false;                  // operators of known nodes
  size_t unrolled_ = 0;                  // nodes of iterations
  size_t entered_ = 0;                   // constants of branches and bodies, each time they are entered
};

}  // namespace ferry::onnx
