// What patterns ask about the nodes of a file, and the one change that they make.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "converter/onnx/model.h"

namespace ferry::onnx {

class Matcher {
 public:
  explicit Matcher(const Model& model);

  const std::vector<Node>& nodes() const { return nodes_; }
  // The node that computes `value`, seen through copies; null for inputs and constants.
  const Node* producer(const std::string& value) const;
  // The same where it is an `op` of ONNX.
  const Node* producer(const std::string& value, const char* op) const;
  // The one node that reads `value`, where that is an `op` of ONNX and the graph does not give `value` out; else null.
  // Copies on the way are passed over.
  const Node* only_reader(const std::string& value, const char* op) const;
  // The name that copies of a value lead back to.
  const std::string& origin(const std::string& value) const;
  // A constant of the file, an initialiser or a Constant's value; null where it is none.
  const Array* constant(const std::string& value) const;
  // The number that `value` is for certain; nothing where it is no constant of one element.
  std::optional<double> number(const std::string& value) const;
  // Of a node with two inputs, the one that is not `value`; null where neither is.
  const std::string* other_input(const Node& node, const std::string& value) const;

  // `last` gives its outputs no more: a node "ferry.<op>" with these inputs and attributes does.
  void replace(const Node* last, const std::string& op, std::vector<std::string> inputs,
               std::map<std::string, Attribute> attributes = {});
  // The nodes that the graph's outputs still depend on.
  std::vector<Node> finish();

 private:
  void index();
  // Does the node give what it takes?
  bool is_copy(const Node& node) const;

  const Model& model_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, size_t> producers_;
  std::unordered_map<std::string, std::vector<size_t>> readers_;
  std::unordered_set<std::string> outputs_;
};

// Is `node` that operator of ONNX, with as many inputs as a pattern reads?
bool is(const Node& node, std::string_view op);
Attribute number_attribute(double value);
// Equal but for rounding to float32.
bool close(double a, double b);

void recognise_gelu(Matcher& matcher);
void recognise_gelu_tanh(Matcher& matcher);
void recognise_silu(Matcher& matcher);
void recognise_hard_swish(Matcher& matcher);
void recognise_layer_norm(Matcher& matcher);
void recognise_rms_norm(Matcher& matcher);
void recognise_group_norm(Matcher& matcher);
void recognise_attention(Matcher& matcher);
void recognise_quantize_dequantize(Matcher& matcher);

}  // namespace ferry::onnx
