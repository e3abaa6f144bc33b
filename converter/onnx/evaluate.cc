#include "converter/onnx/evaluate.h"

#include <algorithm>
#include <set>

#include "converter/onnx/importer.h"

namespace ferry::onnx {

Evaluator::Evaluator(const Model& model) : model_(model) {
  for (size_t i = 0; i < model.nodes.size(); ++i)
    for (const std::string& output : model.nodes[i].outputs) producers_[output] = i;
}

std::map<std::string, Array> Evaluator::evaluate(const std::vector<std::string>& wanted, const Given& given) const {
  Model part{.path = model_.path, .producer = model_.producer, .opset = model_.opset, .nodes = {}, .constants = {}};
  ImportOptions options{.shapes = {}, .constants = given.known, .disabled_patterns = {"all"}};
  std::set<size_t> nodes;
  std::set<std::string> seen;
  std::vector<std::string> open = wanted;
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    if (name.empty() || !seen.insert(name).second) continue;
    const auto input =
        std::find_if(model_.inputs.begin(), model_.inputs.end(), [&](const ValueInfo& v) { return v.name == name; });
    const bool is_input = input != model_.inputs.end();
    const auto shape = given.shapes.find(name);
    if (shape != given.shapes.end() || given.known.contains(name)) {
      part.inputs.push_back({.name = name, .type = is_input ? input->type : Type::Float32});
      if (shape != given.shapes.end()) options.shapes[name] = shape->second;
    } else if (is_input) {
      part.inputs.push_back(*input);
    } else if (const auto constant = model_.constants.find(name); constant != model_.constants.end()) {
      part.constants[name] = constant->second;
    } else if (const auto producer = producers_.find(name); producer != producers_.end()) {
      if (!nodes.insert(producer->second).second) continue;
      const std::vector<std::string>& inputs = model_.nodes[producer->second].inputs;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
  }
  for (const size_t i : nodes) part.nodes.push_back(model_.nodes[i]);
  for (const std::string& name : wanted) part.outputs.push_back({.name = name});
  return import_model(part, options).known;
}

}  // namespace ferry::onnx
