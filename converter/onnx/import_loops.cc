// Bodies of Loop and Scan that stay loops: imported once, between a LoopBegin and a LoopEnd. Values from outside are
// read where they are, slices of scanned inputs are gathered by the number of the step.
#include "converter/onnx/import.h"

#include <algorithm>
#include <numeric>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// Maximum number of nodes that the iterations of a loop become rather than that it stays one.
constexpr double kMaxNodesToUnroll = 1000;

Tensor integers(Graph& graph, const std::string& name, const std::vector<int32_t>& values) {
  return graph.add_constant(name, Shape{static_cast<int32_t>(values.size())}, values);
}

// A value as a tensor of the graph. Throws Error, naming it as `what`, if it is none or has no elements.
Tensor as_tensor(Graph& graph, const Value& value, const std::string& what) {
  if (const Tensor* tensor = std::get_if<Tensor>(&value)) return *tensor;
  const Array* array = std::get_if<Array>(&value);
  if (!array) fail("%s is no tensor", what.c_str());
  if (array->elements() == 0) fail("%s has no elements", what.c_str());
  return add_constant(graph, "", *array);
}

bool is_empty_list(const Value& value) {
  const Sequence* list = std::get_if<Sequence>(&value);
  return list && (*list)->items.empty();
}

// x with dimension 0 moved to `axis`.
Tensor moved_to(Tensor x, int64_t axis) {
  if (axis == 0) return x;
  std::vector<int32_t> order(static_cast<size_t>(x.shape().rank) - 1);
  std::iota(order.begin(), order.end(), 1);
  order.insert(order.begin() + axis, 0);
  return transpose(x, order);
}

// x without dimension `axis`, at one index of it.
Tensor slice_at(Tensor x, int64_t axis, Tensor index) {
  fbs::GatherT gather;
  gather.kind = fbs::GatherKind::Slices;
  gather.axis = static_cast<int32_t>(axis);
  return x.graph->add_op("", gather, {x, index});
}

// The index that counts from the end: a negative one.
Tensor from_the_end(Tensor index) { return binary(fbs::BinaryKind::Sub, scalar(index, -1), index); }

int64_t resolved(int64_t axis, int rank, const char* what) {
  const int64_t from_begin = axis < 0 ? axis + rank : axis;
  if (from_begin < 0 || from_begin >= rank)
    fail("%s axis %lld is outside of %d dimensions", what, static_cast<long long>(axis), rank);
  return from_begin;
}

// The number of steps as a LoopBegin reads it.
Tensor count_of(Graph& graph, const Repeated& loop) {
  const Tensor* computed = std::get_if<Tensor>(&loop.count);
  return computed ? *computed : integers(graph, "", {-1});
}

}  // namespace

// A Loop, with what is known of its number of steps. Nothing: reasons are given.
std::optional<Repeated> Importer::loop_of(const Node& node) {
  const Branch& body = node.branches.front();
  const size_t carried = body.inputs.size() - std::min<size_t>(body.inputs.size(), 2);
  if (body.inputs.size() < 2 || body.outputs.size() < carried + 1 || node.inputs.size() < carried + 2 ||
      node.outputs.size() + 1 > body.outputs.size())
    fail("its body has %zu inputs and %zu outputs, which do not fit the node's", body.inputs.size(),
         body.outputs.size());
  for (const std::string& input : node.inputs)
    if (!input.empty() && std::holds_alternative<Unknown>(values_[input])) return {};  // its producer gave the reason
  Repeated loop;
  loop.index = body.inputs[0];
  loop.going = body.inputs[1];
  loop.condition = body.outputs[0];
  loop.states.assign(body.inputs.begin() + 2, body.inputs.end());
  loop.next_states.assign(body.outputs.begin() + 1, body.outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
  loop.initial = values_of(std::span(node.inputs).subspan(2, carried));
  for (size_t i = 1 + carried; i < body.outputs.size(); ++i) loop.stacked.push_back({.name = body.outputs[i]});
  const auto one = [&](const std::string& name, const char* what) {
    const Value value = plain(values_[name], types_[name]);
    const Array* array = std::get_if<Array>(&value);
    const Tensor* tensor = std::get_if<Tensor>(&value);
    if (array ? array->elements() != 1
              : !tensor || tensor->dtype() != fbs::DType::Int32 || tensor->shape().elements() != 1)
      fail("its %s '%s' is not one integer", what, name.c_str());
    return value;
  };
  if (!node.inputs[0].empty()) loop.count = one(node.inputs[0], "trip count");
  if (const Array* count = std::get_if<Array>(&loop.count)) {
    const double steps = std::max(count->floats().front(), 0.0);
    if (steps >= static_cast<double>(INT32_MAX))  // what exporters write for a loop that only its condition ends
      loop.count = Unknown{};
    else
      loop.limit = static_cast<int64_t>(steps);
    loop.unrolls = loop.limit.has_value();
  } else {
    loop.limit = limit_of_steps(node);
    if (const Tensor* computed = std::get_if<Tensor>(&loop.count)) {
      const Tensor wanted = reshape_to(*computed, {1});
      loop.count = binary(fbs::BinaryKind::Max, wanted, scalar(wanted, 0));  // below 0 means something else in a blob
    }
  }
  if (node.inputs[1].empty()) return loop;
  const Value begins = one(node.inputs[1], "condition");
  if (const Array* array = std::get_if<Array>(&begins)) {
    if (array->floats().front() == 0) loop.limit = 0, loop.count = make_array(Type::Int64, {}, std::vector<int64_t>{0});
    return loop;
  }
  // No steps if it does not hold.
  const Tensor holds = cast_to(reshape_to(std::get<Tensor>(begins), {1}), fbs::DType::Bool);
  loop.count = select(holds, count_of(*graph_, loop), integers(*graph_, "", {0}));
  return loop;
}

std::optional<Repeated> Importer::scan_of(const Node& node) {
  const Branch& body = node.branches.front();
  Op op(node, *graph_, {}, {});
  if (node.opset < 9) op.refuse("it is of opset %d: export with opset 9 or later", node.opset);
  const int64_t scanned = op.integer("num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<int64_t>(body.inputs.size()) || node.inputs.size() < body.inputs.size() ||
      body.outputs.size() != node.outputs.size())
    op.refuse("its body has %zu inputs and %zu outputs, which do not fit the node's", body.inputs.size(),
              body.outputs.size());
  const size_t inputs = static_cast<size_t>(scanned), carried = body.inputs.size() - inputs;
  if (body.outputs.size() < carried) op.refuse("its body has no output for a state");
  const size_t outputs = body.outputs.size() - carried;
  const auto list = [&](const char* name, size_t size) {
    const std::vector<int64_t> given = op.integers(name, std::vector<int64_t>(size, 0));
    if (given.size() != size) op.refuse("attribute '%s' has %zu values, expected %zu", name, given.size(), size);
    return given;
  };
  const std::vector<int64_t> axes = list("scan_input_axes", inputs), to_axes = list("scan_output_axes", outputs);
  const std::vector<int64_t> backwards = list("scan_input_directions", inputs);
  const std::vector<int64_t> to_backwards = list("scan_output_directions", outputs);
  Repeated loop;
  loop.states.assign(body.inputs.begin(), body.inputs.begin() + static_cast<std::ptrdiff_t>(carried));
  loop.next_states.assign(body.outputs.begin(), body.outputs.begin() + static_cast<std::ptrdiff_t>(carried));
  loop.initial = values_of(std::span(node.inputs).first(carried));
  for (const Typed& initial : loop.initial)
    if (std::holds_alternative<Unknown>(initial.first)) return {};  // its producer has given the reason
  for (size_t i = 0; i < inputs; ++i) {
    const Typed all = values_of(std::span(node.inputs).subspan(carried + i, 1)).front();
    if (std::holds_alternative<Unknown>(all.first)) return {};
    loop.scanned.push_back({body.inputs[carried + i], axes[i], backwards[i] != 0, all});
    Dims dims;
    if (const Tensor* tensor = std::get_if<Tensor>(&all.first)) dims = dims_of(*tensor);
    if (const Array* array = std::get_if<Array>(&all.first)) dims = array->dims;
    const auto axis = static_cast<size_t>(resolved(axes[i], static_cast<int>(dims.size()), "scan input"));
    if (i > 0 && dims[axis] != *loop.limit)
      op.refuse("its scanned inputs have %lld and %lld elements", static_cast<long long>(*loop.limit),
                static_cast<long long>(dims[axis]));
    loop.limit = dims[axis];
  }
  for (size_t i = 0; i < outputs; ++i)
    loop.stacked.push_back({.name = body.outputs[carried + i], .axis = to_axes[i], .reversed = to_backwards[i] != 0});
  loop.count = make_array(Type::Int64, {}, std::vector<int64_t>{*loop.limit});
  loop.unrolls = true;
  return loop;
}

// Whether the loop stays one, or can neither stay one nor be unrolled. Then the outputs are set, or reasons are given.
bool Importer::keeps_loop(const Node& node, const Repeated& loop) {
  const double nodes =
      static_cast<double>(loop.limit.value_or(0)) * static_cast<double>(node.branches.front().nodes.size() + 1);
  if (loop.limit == 0 || (loop.unrolls && !options_.open_sizes && nodes <= kMaxNodesToUnroll)) return false;
  const size_t before = reasons_.size();
  if (const std::optional<LoopResults> results = add_repeated(node, loop)) {
    set_results(node, loop, *results);
    return true;
  }
  if (!loop.unrolls || nodes + static_cast<double>(unrolled_) > static_cast<double>(kMaxUnrolledNodes)) return true;
  reasons_.resize(before);
  return false;
}

void Importer::add_loop(const Node& node) {
  for (const std::string& output : node.outputs) values_[output] = Unknown{};
  if (refuses_counted(node, node.inputs)) return;
  try {
    const std::optional<Repeated> loop = loop_of(node);
    if (loop && !keeps_loop(node, *loop)) unroll_loop(node, *loop);
  } catch (const Error& error) {
    give_reason(node, error.what());
  }
}

void Importer::add_scan(const Node& node) {
  for (const std::string& output : node.outputs) values_[output] = Unknown{};
  if (refuses_counted(node, node.inputs)) return;
  try {
    const std::optional<Repeated> loop = scan_of(node);
    if (loop && !keeps_loop(node, *loop)) unroll_scan(node, *loop);
  } catch (const Error& error) {
    give_reason(node, error.what());
  }
}

// A step may gather slices by its number, so that there are no more steps than slices.
std::optional<int64_t> Importer::limit_of_steps(const Node& node) const {
  const Branch& body = node.branches.front();
  std::optional<int64_t> limit;
  for (const Node& inner : body.nodes) {
    if (inner.op != "Gather" || inner.inputs.size() != 2 || inner.inputs[1] != body.inputs.front()) continue;
    const auto value = values_.find(inner.inputs.front());
    if (value == values_.end()) continue;
    Dims dims;
    if (const Tensor* tensor = std::get_if<Tensor>(&value->second)) dims = dims_of(*tensor);
    if (const Array* array = std::get_if<Array>(&value->second)) dims = array->dims;
    const auto attribute = inner.attributes.find("axis");
    const bool given = attribute != inner.attributes.end() && !attribute->second.ints.empty();
    const int64_t axis = given ? attribute->second.ints.front() : 0;
    const int64_t place = axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis;
    if (place < 0 || place >= static_cast<int64_t>(dims.size())) continue;
    const int64_t size = dims[static_cast<size_t>(place)];
    limit = std::min(limit.value_or(size), size);
  }
  return limit;
}

// Imports the loop. Nothing, with reasons given and nothing added, if its body is none for any number of steps.
std::optional<LoopResults> Importer::add_repeated(const Node& node, const Repeated& loop) {
  const size_t reasons = reasons_.size(), operators = graph_->table.operators.size();
  const auto int32 = int32_;
  ++loops_;
  std::optional<LoopResults> results;
  try {
    results = add_between(node, loop);
  } catch (const Error& error) {
    give_reason(node, error.what());
  }
  --loops_;
  if (reasons_.size() == reasons) return results;
  graph_->table.operators.resize(operators);
  int32_ = int32;
  return {};
}

LoopResults Importer::add_between(const Node& node, const Repeated& loop) {
  Graph& graph = *graph_;
  const int64_t limit = loop.limit.value_or(1);
  if (limit < 1 || limit > (int64_t{1} << 24)) fail("a loop of %lld steps", static_cast<long long>(limit));
  std::vector<int32_t> steps(static_cast<size_t>(limit));
  std::iota(steps.begin(), steps.end(), 0);
  const Tensor extent = integers(graph, node.name + ".steps", steps);
  const Tensor count = count_of(graph, loop);

  std::vector<Tensor> inputs = {extent, count};
  std::vector<bool> lists;  // by state: a sequence that a step appends to
  for (size_t i = 0; i < loop.states.size(); ++i) {
    lists.push_back(is_empty_list(loop.initial[i].first));
    if (!lists.back()) inputs.push_back(as_tensor(graph, loop.initial[i].first, "state '" + loop.states[i] + "'"));
  }
  fbs::LoopBeginT begin;
  begin.unlimited = !loop.limit;
  if (inputs.size() - 1 > kMaxOutputs)
    fail("%zu states, at most %u can be computed", inputs.size() - 2, kMaxOutputs - 1);
  const std::vector<Tensor> now = graph.add_op_with_outputs(node.name, begin, inputs, inputs.size() - 1);

  const Branch& body = node.branches.front();
  add_constants(body);
  if (!loop.index.empty()) set_value(loop.index, {reshape_to(now[0], {}), Type::Int64});
  if (!loop.going.empty()) set_value(loop.going, {make_array(Type::Bool, {}, std::vector<int64_t>{1}), Type::Bool});
  for (size_t i = 0, k = 1; i < loop.states.size(); ++i)
    set_value(loop.states[i], lists[i] ? loop.initial[i] : Typed{now[k++], loop.initial[i].second});
  for (const Repeated::Slices& x : loop.scanned) {
    const Tensor all = as_tensor(graph, x.all.first, "scanned input '" + x.name + "'");
    const int64_t axis = resolved(x.axis, all.shape().rank, "scan input");
    const Tensor index = reshape_to(x.reversed ? from_the_end(now[0]) : now[0], {});
    set_value(x.name, {slice_at(all, axis, index), x.all.second});
  }
  const size_t before = reasons_.size();
  for (const Node& inner : body.nodes) add_node(inner);
  if (reasons_.size() > before || refuses_counted(node, body.outputs)) return {};

  const auto result = [&](const std::string& name) -> Typed { return values_of(std::span(&name, 1)).front(); };
  LoopResults out;
  Tensor condition = integers(graph, "", {1});
  if (!loop.condition.empty()) {
    const Value value = result(loop.condition).first;
    const Array* known = std::get_if<Array>(&value);
    out.counted = !known || known->elements() != 1 || known->floats().front() == 0;
    condition = reshape_to(as_tensor(graph, value, "condition '" + loop.condition + "'"), {1});
  }
  if (std::holds_alternative<Unknown>(loop.count) && !out.counted)
    fail("nothing ends it: no trip count, and a condition that always holds");
  out.counted = out.counted || !std::holds_alternative<Array>(loop.count);
  std::vector<Tensor> ends = {extent, now[0], count, condition}, next, rows;
  ends.insert(ends.end(), now.begin() + 1, now.end());
  for (size_t i = 0; i < loop.states.size(); ++i) {
    const Typed value = result(loop.next_states[i]);
    const std::string what = "state '" + loop.next_states[i] + "'";
    if (lists[i]) {
      const Sequence* list = std::get_if<Sequence>(&value.first);
      if (!list || (*list)->items.size() != 1) fail("%s: a step appends other than one tensor", what.c_str());
      rows.push_back(as_tensor(graph, (*list)->items.front(), what));
      continue;
    }
    next.push_back(as_tensor(graph, value.first, what));
    const Tensor first = inputs[1 + next.size()];
    if (dims_of(next.back()) != dims_of(first) || next.back().dtype() != first.dtype())
      fail("%s is %s before a step, and %s after it", what.c_str(), to_string(dims_of(first)).c_str(),
           to_string(dims_of(next.back())).c_str());
  }
  for (const Repeated::Slices& y : loop.stacked)
    rows.push_back(as_tensor(graph, result(y.name).first, "output '" + y.name + "'"));
  if (!loop.limit && !rows.empty()) fail("nothing limits its number of steps, so that what it stacks has no maximum");
  ends.insert(ends.end(), next.begin(), next.end());
  ends.insert(ends.end(), rows.begin(), rows.end());
  fbs::LoopEndT end;
  end.states = static_cast<int32_t>(next.size());
  end.unlimited = begin.unlimited;
  const size_t outputs = 1 + next.size() + rows.size();
  if (outputs > kMaxOutputs) fail("%zu states and outputs, at most %u can be computed", outputs - 1, kMaxOutputs - 1);
  const std::vector<Tensor> after = graph.add_op_with_outputs(node.name, end, ends, outputs);

  out.count = after[0];
  size_t state = 1, row = 1 + next.size();
  for (size_t i = 0; i < loop.states.size(); ++i) {
    const Type type = result(loop.next_states[i]).second;
    if (lists[i])
      out.states.emplace_back(Rows{after[row++]}, type);
    else
      out.states.emplace_back(after[state++], type);
  }
  for (const Repeated::Slices& y : loop.stacked) {
    Tensor all = after[row++];
    if (y.reversed) {
      std::vector<int32_t> backwards;
      for (const int32_t step : steps) backwards.push_back(-1 - step);
      all = slice_at(all, 0, integers(graph, "", backwards));
    }
    out.stacked.emplace_back(moved_to(all, resolved(y.axis, all.shape().rank, "scan output")), result(y.name).second);
  }
  return out;
}

void Importer::set_results(const Node& node, const Repeated& loop, const LoopResults& results) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string& name = node.outputs[i];
    if (name.empty()) continue;
    const size_t states = loop.states.size();
    set_value(name, i < states ? results.states[i] : results.stacked[i - states]);
    const Tensor* stacked = std::get_if<Tensor>(&values_[name]);
    if (results.counted && i >= states) {
      std::vector<std::optional<Tensor>>& sizes = counted_[name].sizes;
      sizes.resize(dims_of(*stacked).size());
      sizes[0] = results.count;
    }
    add_taps(name);
  }
}

}  // namespace ferry::onnx
