// Queries of patterns about a file's nodes, and the replacement of nodes.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "converter/onnx/model.h"

namespace ferry::onnx {

class Matcher {
 public:
  explicit Matcher(const Model& model);

  const std::vector<Node>& nodes() const { return nodes_; }
  // The node that computes `value`, looking through copies; null for inputs and constants.
  const Node* producer(const std::string& value) const;
  // The same if it is the ONNX operator `op`.
  const Node* producer(const std::string& value, const char* op) const;
  // The only reader of `value` if it is the ONNX operator `op` and `value` is not an output of the graph; else null.
  // Looks through copies.
  const Node* only_reader(const std::string& value, const char* op) const;
  // The original name of a copied value.
  const std::string& origin(const std::string& value) const;
  // A constant of the file, an initializer or a Constant's value; null if it is not constant.
  const Array* constant(const std::string& value) const;
  // The value of a constant with one element; else nothing.
  std::optional<double> number(const std::string& value) const;
  // The input of a binary node that is not `value`; null if neither is `value`.
  const std::string* other_input(const Node& node, const std::string& value) const;

  // Replaces `last` by a node "ferry.<op>" with these inputs and attributes, and the same outputs.
  void replace(const Node* last, const std::string& op, std::vector<std::string> inputs,
               std::map<std::string, Attribute> attributes = {});
  // The nodes that the outputs depend on.
  std::vector<Node> finish();

 private:
  // Whether the node's output equals its input.
  bool is_copy(const Node& node) const;

  const Model& model_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, size_t> producers_;
  std::unordered_map<std::string, std::multiset<size_t>> readers_;  // a node that reads a value twice is there twice
  std::unordered_map<std::string, std::string> origins_;            // of copied values
  std::unordered_set<std::string> outputs_;
};

// Whether `node` is that ONNX operator, with enough inputs for the patterns.
bool is(const Node& node, std::string_view op);
Attribute number_attribute(double value);
// Equal up to rounding to float32.
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
void recognise_dynamic_quantization(Matcher& matcher);
void recognise_paste_masks(Matcher& matcher);
void recognise_heatmaps(Matcher& matcher);
void recognise_scatter_rows(Matcher& matcher);

}  // namespace ferry::onnx
