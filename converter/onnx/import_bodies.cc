// Graphs inside nodes that are imported in place of the node: the branches of an If, and the bodies of Loop, Scan and
// SequenceMap once per iteration.
#include "converter/onnx/import.h"

#include <algorithm>
#include <cmath>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// Maximum number of constants that branches and bodies of loops bring, counted each time that they are entered.
constexpr size_t kMaxEntered = 10'000'000;

// Whether all outputs of a branch are constants without elements.
bool is_empty(const Branch& branch) {
  std::set<std::string> empty;
  for (const auto& [name, array] : branch.constants)
    if (array.elements() == 0) empty.insert(name);
  for (const Node& node : branch.nodes) {
    const auto value = node.attributes.find("value");
    if (node.op == "Constant" && !node.outputs.empty() && value != node.attributes.end() &&
        value->second.tensor.elements() == 0)
      empty.insert(node.outputs.front());
  }
  return std::all_of(branch.outputs.begin(), branch.outputs.end(),
                     [&](const std::string& output) { return empty.contains(output); });
}

}  // namespace

// Throws Error if loops enter branches with many constants again and again.
void Importer::add_constants(const Branch& branch) {
  entered_ += branch.constants.size();
  if (entered_ > kMaxEntered) fail("iterations of loops read more than %zu constants", kMaxEntered);
  for (const auto& [name, array] : branch.constants) values_[name] = array;
}

// Imports the taken branch in place of the If if the condition is known, else both.
void Importer::add_branch(const Node& node) {
  for (const std::string& output : node.outputs) values_[output] = Unknown{};
  const Value& value = values_[node.inputs.front()];
  if (std::holds_alternative<Unknown>(value)) return;
  const Array* condition = std::get_if<Array>(&value);
  const Tensor* computed = std::get_if<Tensor>(&value);
  if (computed && count_elements(dims_of(*computed)) == 1 && types_[node.inputs.front()] == Type::Bool)
    return add_both_branches(node, *computed);
  if (!condition || condition->elements() != 1)
    return give_reason(node, "its condition '" + node.inputs.front() + "' depends on the graph's inputs");
  const bool holds = condition->floats().front() != 0;
  const Branch& branch = node.branches[holds ? 0 : 1];
  const Counted counted = counted_[node.inputs.front()];
  if (counted.least && !is_empty(node.branches[holds ? 1 : 0]))
    return give_reason(node,
                       "its condition '" + node.inputs.front() + "' follows from values, and both branches compute");
  if (branch.outputs.size() != node.outputs.size())
    return give_reason(node, "its branches have " + std::to_string(branch.outputs.size()) + " outputs, expected " +
                                 std::to_string(node.outputs.size()));
  add_constants(branch);
  for (const Node& inner : branch.nodes) add_node(inner);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    values_[node.outputs[i]] = values_[branch.outputs[i]];
    counted_[node.outputs[i]] = counted_[branch.outputs[i]];
    types_[node.outputs[i]] = types_[branch.outputs[i]];
    producers_[node.outputs[i]] = producers_[branch.outputs[i]];
    add_taps(node.outputs[i]);
    if (!counted.least) continue;
    // The other branch is empty: so is the output if a run takes that.
    const Tensor taken =
        cast_to(holds ? *counted.in_run : unary(*counted.in_run, fbs::UnaryKind::Not), fbs::DType::Int32);
    bool any = false;
    for (auto& size : counted_[node.outputs[i]].sizes) {
      if (!size) continue;
      size = binary(fbs::BinaryKind::Mul, *size, reshape_to(taken, {1}));
      any = true;
    }
    if (!any)
      give_reason(node, "output '" + node.outputs[i] + "' is empty in one branch and of a known size in the other");
  }
}

// `a` where the condition (Int32, one element) is not 0, else `b`; nothing unless both are tensors of one type and one
// shape with elements.
std::optional<Typed> Importer::selected(Tensor condition, const Typed& a, const Typed& b) {
  const Array *one = std::get_if<Array>(&a.first), *other = std::get_if<Array>(&b.first);
  const bool known = one && other && one->type == other->type && one->dims == other->dims;
  if (known && one->floats() == other->floats()) return a;
  std::vector<Tensor> values;
  for (const Value* value : {&a.first, &b.first}) {
    if (const Tensor* tensor = std::get_if<Tensor>(value))
      values.push_back(*tensor);
    else if (const Array* array = std::get_if<Array>(value); array && array->elements() > 0)
      values.push_back(add_constant(*graph_, "", *array));
    else
      return {};
  }
  if (a.second != b.second || dims_of(values[0]) != dims_of(values[1])) return {};
  return Typed{select(reshape_to(condition, {}), values[0], values[1]), a.second};
}

// Imports both branches of an If and selects among their outputs.
void Importer::add_both_branches(const Node& node, Tensor condition) {
  const std::string depends = "its condition '" + node.inputs.front() + "' depends on the graph's inputs, and ";
  const size_t before = reasons_.size();
  std::vector<std::vector<Typed>> results;
  for (const Branch& branch : node.branches) {
    if (branch.outputs.size() != node.outputs.size())
      return give_reason(node, depends + "a branch has " + std::to_string(branch.outputs.size()) +
                                   " outputs, expected " + std::to_string(node.outputs.size()));
    add_constants(branch);
    for (const Node& inner : branch.nodes) add_node(inner);
    refuses_counted(node, branch.outputs);
    if (reasons_.size() > before) {
      const std::string what = reasons_[before].what;
      reasons_.resize(before);
      return give_reason(node, depends + "a branch cannot be converted: " + what);
    }
    results.push_back(values_of(branch.outputs));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    for (const std::vector<Typed>& result : results)
      if (std::holds_alternative<Unknown>(result[i].first)) return;  // its producer has given the reason
    const std::optional<Typed> value = selected(condition, results[0][i], results[1][i]);
    if (!value)
      return give_reason(node, depends + "output '" + node.outputs[i] +
                                   "' is no tensor of one type and one shape with elements in both branches");
    set_value(node.outputs[i], *value);
    add_taps(node.outputs[i]);
  }
}

std::vector<Typed> Importer::values_of(std::span<const std::string> names) {
  std::vector<Typed> list;
  for (const std::string& name : names) {
    const Value& value = values_[name];
    const Array* array = std::get_if<Array>(&value);
    list.emplace_back(plain(value, types_[name]), array ? array->type : types_[name]);
  }
  return list;
}

// Refuses a loop that reads or returns one of these values if its size is set by a run: iterations do not pass counts
// on.
bool Importer::refuses_counted(const Node& node, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!counted_[name].any()) continue;
    give_reason(node, "the size of '" + name + "' follows from the values of inputs");
    return true;
  }
  return false;
}

// Imports one iteration; false if it cannot be.
bool Importer::add_body(const Node& node, const std::vector<Typed>& inputs) {
  const Branch& body = node.branches.front();
  const size_t before = reasons_.size();
  unrolled_ += body.nodes.size() + 1;
  if (unrolled_ > kMaxUnrolledNodes) {
    give_reason(node, "the iterations of loops become more than " + std::to_string(kMaxUnrolledNodes) + " nodes");
    return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) set_value(body.inputs[i], inputs[i]);
  for (const Node& inner : body.nodes) add_node(inner);
  return reasons_.size() == before && !refuses_counted(node, body.outputs);
}

// Imports the body once per iteration; the loop has a limit. If a condition is computed, the iterations up to it are
// imported, and those after the last one do not change the state.
// All iterations share the body's constants.
void Importer::unroll_loop(const Node& node, const Repeated& loop) {
  const Branch& body = node.branches.front();
  const size_t carried = loop.states.size();
  bool runs = true;
  std::optional<Tensor> going;  // whether an iteration is run, if that is computed
  const auto decide = [&](const std::string& name, const char* what) {
    if (const Array* array = std::get_if<Array>(&values_[name]); array && array->elements() == 1) {
      runs = array->floats().front() != 0;
      return true;
    }
    const Tensor* computed = std::get_if<Tensor>(&values_[name]);
    if (!computed || types_[name] != Type::Bool || count_elements(dims_of(*computed)) != 1) {
      if (!std::holds_alternative<Unknown>(values_[name]))
        give_reason(node, std::string("its ") + what + " '" + name + "' depends on the graph's inputs");
      return false;
    }
    const Tensor holds = cast_to(reshape_to(*computed, {1}), fbs::DType::Bool);
    going = going ? binary(fbs::BinaryKind::And, *going, holds) : holds;
    return true;
  };
  if (!node.inputs[1].empty() && !decide(node.inputs[1], "condition")) return;
  add_constants(body);
  std::vector<Typed> state = loop.initial;
  std::vector<Items> stacked(loop.stacked.size());
  std::optional<Tensor> length;  // of the stacked outputs, if it is computed
  for (int64_t i = 0; runs && i < *loop.limit; ++i) {
    std::vector<Typed> inputs = {{make_array(Type::Int64, {}, std::vector<int64_t>{i}), Type::Int64},
                                 {make_array(Type::Bool, {}, std::vector<int64_t>{1}), Type::Bool}};
    inputs.insert(inputs.end(), state.begin(), state.end());
    if (!add_body(node, inputs)) return;
    std::vector<Typed> next = values_of(std::span(body.outputs).subspan(1, carried));
    if (going) length = length ? *length + *going : *going + scalar(*going, static_cast<double>(i));
    for (size_t k = 0; k < carried && going; ++k) {
      const std::optional<Typed> value = selected(*going, next[k], state[k]);
      if (!value)
        return give_reason(node, "its number of iterations depends on the graph's inputs, and '" + body.outputs[1 + k] +
                                     "' is no tensor of one type and one shape in all of them");
      next[k] = *value;
    }
    state = std::move(next);
    const std::vector<Typed> last = values_of(std::span(body.outputs).subspan(1 + carried));
    for (size_t k = 0; k < last.size(); ++k) {
      stacked[k].type = last[k].second;
      stacked[k].items.push_back(last[k].first);
    }
    if (!decide(body.outputs[0], "condition after an iteration")) return;
  }
  Op op(node, *graph_, {}, {});
  try {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      Typed value = i < carried ? state[i] : joined(op, stacked[i - carried], 0, true);
      const Array* array = std::get_if<Array>(&value.first);
      if (length && i >= carried && array) value.first = add_constant(*graph_, "", *array);
      set_value(node.outputs[i], value);
      if (!length || i < carried) continue;
      std::vector<std::optional<Tensor>>& sizes = counted_[node.outputs[i]].sizes;
      sizes.resize(dims_of(std::get<Tensor>(value.first)).size());
      sizes[0] = length;
    }
  } catch (const Error& error) {
    give_reason(node, error.what());
  }
}

// Imports the body once per element of the scanned inputs.
void Importer::unroll_scan(const Node& node, const Repeated& loop) {
  const Branch& body = node.branches.front();
  Op op(node, *graph_, {}, {});
  try {
    const size_t carried = loop.states.size(), outputs = loop.stacked.size();
    add_constants(body);
    std::vector<Typed> state = loop.initial;
    std::vector<Items> whole, stacked(outputs);  // inputs by step; outputs by step
    for (const Repeated::Slices& x : loop.scanned) {
      whole.push_back(unstacked(op, x.all.first, x.all.second, x.axis));
      if (x.reversed) std::reverse(whole.back().items.begin(), whole.back().items.end());
    }
    for (size_t t = 0; t < whole[0].items.size(); ++t) {
      std::vector<Typed> values = state;
      for (const Items& x : whole) values.emplace_back(x.items[t], x.type);
      if (!add_body(node, values)) return;
      state = values_of(std::span(body.outputs).first(carried));
      const std::vector<Typed> last = values_of(std::span(body.outputs).subspan(carried));
      for (size_t k = 0; k < last.size(); ++k) {
        stacked[k].type = last[k].second;
        stacked[k].items.push_back(last[k].first);
      }
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      if (i >= carried && loop.stacked[i - carried].reversed)
        std::reverse(stacked[i - carried].items.begin(), stacked[i - carried].items.end());
      set_value(node.outputs[i],
                i < carried ? state[i] : joined(op, stacked[i - carried], loop.stacked[i - carried].axis, true));
    }
  } catch (const Error& error) {
    give_reason(node, error.what());
  }
}

// Imports the body once per element of the sequence. Inputs that are no sequences are the same for all elements.
void Importer::add_sequence_map(const Node& node) {
  for (const std::string& output : node.outputs) values_[output] = Unknown{};
  if (refuses_counted(node, node.inputs)) return;
  const Branch& body = node.branches.front();
  if (body.inputs.empty() || node.inputs.size() < body.inputs.size() || body.outputs.size() != node.outputs.size())
    return give_reason(node, "its body has " + std::to_string(body.inputs.size()) + " inputs and " +
                                 std::to_string(body.outputs.size()) + " outputs, which do not fit the node's");
  const std::vector<Typed> inputs = values_of(std::span(node.inputs).first(body.inputs.size()));
  std::optional<size_t> length;
  for (const Typed& input : inputs) {
    if (std::holds_alternative<Unknown>(input.first)) return;  // its producer has given the reason
    const Sequence* list = std::get_if<Sequence>(&input.first);
    if (!list && !length) return give_reason(node, "input 0 is no sequence of tensors");
    if (list && (*list)->items.size() != length.value_or((*list)->items.size()))
      return give_reason(node, "its sequences have " + std::to_string(*length) + " and " +
                                   std::to_string((*list)->items.size()) + " tensors");
    if (list) length = (*list)->items.size();
  }
  add_constants(body);
  std::vector<Items> results(node.outputs.size());
  for (size_t i = 0; i < *length; ++i) {
    std::vector<Typed> values;
    for (const Typed& input : inputs) {
      const Sequence* list = std::get_if<Sequence>(&input.first);
      values.push_back(list ? Typed{(*list)->items[i], (*list)->type} : input);
    }
    if (!add_body(node, values)) return;
    const std::vector<Typed> last = values_of(body.outputs);
    for (size_t k = 0; k < last.size(); ++k) {
      if (!std::holds_alternative<Array>(last[k].first) && !std::holds_alternative<Tensor>(last[k].first))
        return give_reason(node, "output " + std::to_string(k) + " of its body is no tensor");
      results[k].type = last[k].second;
      results[k].items.push_back(last[k].first);
    }
  }
  for (size_t k = 0; k < results.size(); ++k)
    if (!node.outputs[k].empty())
      set_value(node.outputs[k], {std::make_shared<const Items>(results[k]), results[k].type});
}

}  // namespace ferry::onnx
