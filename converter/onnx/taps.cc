#include "converter/onnx/taps.h"

#include <algorithm>
#include <deque>

#include "converter/error.h"
#include "converter/suggest.h"

namespace ferry::onnx {
namespace {

using Path = std::vector<std::string>;  // of a module, as the exporter writes it: "layer1", "layer1.0", "conv1"

// Of the module whose node bears this name; empty for nodes of the network itself, and for names of other exporters.
Path path_of(const std::string& node) {
  Path path;
  if (!node.starts_with('/')) return path;
  for (size_t at = 1, end; (end = node.find('/', at)) != std::string::npos; at = end + 1)
    path.push_back(node.substr(at, end - at));
  return path;
}

// "layer1.0.conv1". The child "0" of "layer1" is written "layer1.0".
std::string module_name(const Path& path) {
  std::string name, last;
  for (const std::string& piece : path) {
    if (!last.empty() && piece.starts_with(last + "."))
      name += piece.substr(last.size());
    else
      name += (name.empty() ? "" : ".") + piece;
    last = piece;
  }
  return name;
}

// Calls `use` for every node, those of branches too.
template <typename Use>
void for_each_node(const std::vector<Node>& nodes, const Use& use) {
  for (const Node& node : nodes) {
    use(node);
    for (const Branch& branch : node.branches) for_each_node(branch.nodes, use);
  }
}

// Values that follow from shapes and constants alone.
std::set<std::string> known_values(const Model& model) {
  std::set<std::string> known;
  for (const auto& [name, array] : model.constants) known.insert(name);
  for (const Node& node : model.nodes) {
    const auto is_known = [&](const std::string& input) { return input.empty() || known.contains(input); };
    if (node.op == "Shape" || node.op == "Size" || std::all_of(node.inputs.begin(), node.inputs.end(), is_known))
      known.insert(node.outputs.begin(), node.outputs.end());
  }
  return known;
}

// PyTorch names weights that it has changed "onnx::Conv_12"; the others keep their names in the module.
bool has_folded_norm(const Node& node) {
  return node.op.starts_with("Conv") && node.inputs.size() > 1 && node.inputs[1].starts_with("onnx::");
}

}  // namespace

std::map<std::string, std::string> module_outputs(const Model& model) {
  std::map<std::string, Path> of;        // the module that computes a value
  std::map<std::string, size_t> shared;  // the length of the path that all its readers share with it
  std::set<std::string> changed;         // values of convolutions with a batch norm
  const std::set<std::string> known = known_values(model);
  for (const Node& node : model.nodes) {
    const Path path = path_of(node.name);
    for (const std::string& input : node.inputs) {
      const auto from = of.find(input);
      if (from == of.end()) continue;
      const Path& other = from->second;
      size_t length = 0;
      while (length < path.size() && length < other.size() && path[length] == other[length]) ++length;
      shared[input] = std::min(shared.at(input), length);
    }
    for (const std::string& output : node.outputs) {
      if (output.empty() || known.contains(output)) continue;
      of[output] = path;
      shared[output] = path.size();
      if (has_folded_norm(node)) changed.insert(output);
    }
  }
  for (const ValueInfo& output : model.outputs)
    if (of.contains(output.name)) shared[output.name] = 0;
  std::map<std::string, std::vector<std::string>> leaving;
  for (const auto& [value, path] : of)
    for (size_t length = shared.at(value) + 1; length <= path.size(); ++length)
      leaving[module_name({path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length)})].push_back(value);
  std::map<std::string, std::string> out;
  for (const auto& [module, values] : leaving)
    if (values.size() == 1 && !changed.contains(values.front())) out[module] = values.front();
  return out;
}

TapNames tap_names(const Model& model, const TapRequest& request) {
  TapNames out;
  if (!request.any()) return out;
  TapNames values, nodes, modules = module_outputs(model);
  for_each_node(model.nodes, [&](const Node& node) {
    for (const std::string& output : node.outputs)
      if (!output.empty()) values[output] = output;
    if (!node.name.empty() && !node.outputs.empty()) nodes.emplace(node.name, node.outputs.front());
  });
  if (request.all) {
    out = values;
    out.insert(modules.begin(), modules.end());
  }
  for (const std::string& name : request.names) {
    std::string value;
    // A module may be written as in the names of nodes: "/layer1/layer1.0".
    const std::string path = name.starts_with('/') ? module_name(path_of(name + "/")) : name;
    if (const auto found = values.find(name); found != values.end()) {
      value = found->second;
    } else if (const auto node = nodes.find(name); node != nodes.end()) {
      value = node->second;
    } else if (const auto module = modules.find(path); module != modules.end()) {
      value = module->second;
    } else {
      std::vector<std::string> all;
      for (const TapNames* names : {&values, &nodes, &modules})
        for (const auto& [known, of] : *names) all.push_back(known);
      fail("--tap %s: no value, node or module of %s is called so%s", name.c_str(),
           model.path.filename().string().c_str(), did_you_mean(name, all).c_str());
    }
    out[name] = value;
    out[value] = value;
  }
  return out;
}

std::string nearest_value(const Model& model, const std::string& value, const std::set<std::string>& tappable) {
  std::map<std::string, std::vector<std::string>> after, before;
  for_each_node(model.nodes, [&](const Node& node) {
    for (const std::string& input : node.inputs)
      for (const std::string& output : node.outputs) {
        if (input.empty() || output.empty()) continue;
        after[input].push_back(output);
        before[output].push_back(input);
      }
  });
  for (const auto* next : {&after, &before}) {
    std::deque<std::string> open = {value};
    std::set<std::string> seen = {value};
    for (; !open.empty(); open.pop_front()) {
      if (tappable.contains(open.front())) return open.front();
      const auto found = next->find(open.front());
      if (found == next->end()) continue;
      for (const std::string& name : found->second)
        if (seen.insert(name).second) open.push_back(name);
    }
  }
  return "";
}

}  // namespace ferry::onnx
