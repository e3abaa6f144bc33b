#include "converter/onnx/patterns/matcher.h"

#include <algorithm>
#include <cmath>

namespace ferry::onnx {

Matcher::Matcher(const Model& model) : model_(model), nodes_(model.nodes) {
  for (const ValueInfo& output : model.outputs) outputs_.insert(output.name);
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    for (const std::string& input : node.inputs) readers_[input].insert(i);
    for (const std::string& output : node.outputs) producers_[output] = i;
    if (is_copy(node)) origins_[node.outputs.front()] = origin(node.inputs.front());
  }
}

bool Matcher::is_copy(const Node& node) const {
  if (is(node, "Identity") || (is(node, "Concat") && node.inputs.size() == 1)) return true;
  return is(node, "Dropout") && (node.inputs.size() <= 2 || number(node.inputs[1]) == 0.0);
}

const std::string& Matcher::origin(const std::string& value) const {
  const auto found = origins_.find(value);
  return found == origins_.end() ? value : found->second;
}

const Node* Matcher::producer(const std::string& value) const {
  const auto found = producers_.find(origin(value));
  return found == producers_.end() ? nullptr : &nodes_[found->second];
}

const Node* Matcher::producer(const std::string& value, const char* op) const {
  const Node* node = producer(value);
  return node && is(*node, op) ? node : nullptr;
}

const Node* Matcher::only_reader(const std::string& value, const char* op) const {
  const std::string* at = &value;
  while (true) {
    const auto found = readers_.find(*at);
    if (outputs_.contains(*at) || found == readers_.end() || found->second.size() != 1) return nullptr;
    const Node& node = nodes_[*found->second.begin()];
    if (is(node, op)) return &node;
    if (!is_copy(node)) return nullptr;
    at = &node.outputs.front();
  }
}

const Array* Matcher::constant(const std::string& value) const {
  const std::string& name = origin(value);
  if (const auto found = model_.constants.find(name); found != model_.constants.end()) return &found->second;
  const Node* node = producer(name, "Constant");
  if (!node || !node->attributes.contains("value")) return nullptr;
  const Attribute& attribute = node->attributes.at("value");
  return attribute.kind == Attribute::Kind::Tensor ? &attribute.tensor : nullptr;
}

std::optional<double> Matcher::number(const std::string& value) const {
  const Array* array = constant(value);
  if (!array || array->elements() != 1) return {};
  return array->floats().front();
}

const std::string* Matcher::other_input(const Node& node, const std::string& value) const {
  if (node.inputs.size() != 2) return nullptr;
  const std::string& wanted = origin(value);
  if (origin(node.inputs[0]) == wanted) return &node.inputs[1];
  if (origin(node.inputs[1]) == wanted) return &node.inputs[0];
  return nullptr;
}

void Matcher::replace(const Node* last, const std::string& op, std::vector<std::string> inputs,
                      std::map<std::string, Attribute> attributes) {
  const size_t index = static_cast<size_t>(last - nodes_.data());
  Node& node = nodes_[index];
  for (const std::string& input : node.inputs) {
    auto& readers = readers_.at(input);
    readers.erase(readers.find(index));
  }
  node.op = op;
  node.domain = "ferry";
  node.inputs = std::move(inputs);
  node.branches.clear();
  node.attributes = std::move(attributes);
  for (const std::string& input : node.inputs) readers_[input].insert(index);
}

std::vector<Node> Matcher::finish() {
  std::unordered_set<std::string> needed = outputs_;
  std::vector<Node> kept;
  // Nodes are in topological order: in reverse, readers come before producers.
  for (size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](const auto& o) { return needed.contains(o); }))
      continue;
    needed.insert(node.inputs.begin(), node.inputs.end());
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

bool is(const Node& node, std::string_view op) {
  constexpr int kBroadcasting = 7;  // older binary operators broadcast by other rules (versions.h)
  constexpr std::string_view kBinary[] = {"Add", "Div", "MatMul", "Mul", "Pow", "Reshape", "Sub"};
  const size_t inputs = op == "Constant" ? 0 : std::count(std::begin(kBinary), std::end(kBinary), op) > 0 ? 2 : 1;
  return node.op == op && node.domain.empty() && node.opset >= kBroadcasting && node.problem.empty() &&
         node.inputs.size() >= inputs && !node.outputs.empty();
}

Attribute number_attribute(double value) { return {.kind = Attribute::Kind::Float, .floats = {value}}; }

bool close(double a, double b) { return std::fabs(a - b) <= 1e-5 * std::fabs(b); }

}  // namespace ferry::onnx
