// Functions of the standard as building blocks of the domain com.microsoft.
#include "converter/onnx/ops/microsoft/microsoft.h"

namespace ferry::onnx::microsoft {
namespace {

constexpr int kOpset = 21;

Node node_for(Op& op, const std::vector<Argument>& inputs, const Attributes& attributes, size_t outputs) {
  Node node;
  node.op = op.node().op;
  node.name = op.node().name;
  node.opset = kOpset;
  node.attributes = attributes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool omitted = std::holds_alternative<Unknown>(inputs[i].value);
    node.inputs.push_back(omitted ? "" : node.name + ":" + std::to_string(i));
  }
  for (size_t i = 0; i < outputs; ++i) node.outputs.push_back(node.name + "=" + std::to_string(i));
  return node;
}

std::vector<Argument> results_of(OpFunction function, const Node& node, Graph& graph,
                                 const std::vector<Argument>& inputs) {
  std::vector<Value> values;
  std::vector<Type> types;
  for (const Argument& input : inputs) {
    values.push_back(input.value);
    types.push_back(input.type);
  }
  Op inner(node, graph, std::move(values), std::move(types));
  function(inner);
  std::vector<Argument> results(node.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].value = inner.outputs()[i];
    results[i].type = inner.output_type(i);
  }
  return results;
}

}  // namespace

Argument argument(Op& op, size_t i) {
  Argument input;
  if (!op.has(i)) return input;
  input.value = op.value(i);
  input.type = op.type(i);
  return input;
}

Attribute attribute(int64_t value) {
  Attribute a;
  a.kind = Attribute::Kind::Int;
  a.ints = {value};
  return a;
}

Attribute attribute(double value) {
  Attribute a;
  a.kind = Attribute::Kind::Float;
  a.floats = {value};
  return a;
}

Attribute attribute(const char* value) {
  Attribute a;
  a.kind = Attribute::Kind::String;
  a.strings = {value};
  return a;
}

Attribute attribute(const std::vector<int64_t>& values) {
  Attribute a;
  a.kind = Attribute::Kind::Ints;
  a.ints = values;
  return a;
}

std::vector<Argument> call_all(Op& op, OpFunction function, const std::vector<Argument>& inputs,
                               const Attributes& attributes, size_t outputs) {
  return results_of(function, node_for(op, inputs, attributes, outputs), op.graph(), inputs);
}

Tensor tensor_of(Op& op, const Argument& argument) {
  if (const Tensor* tensor = std::get_if<Tensor>(&argument.value)) return *tensor;
  const Array* array = std::get_if<Array>(&argument.value);
  if (!array) op.refuse("a result is not supported");
  return add_constant(op.graph(), op.node().name, op.known() ? cast(*array, Type::Float64) : *array);
}

Tensor call(Op& op, OpFunction function, const std::vector<Argument>& inputs, const Attributes& attributes) {
  return tensor_of(op, call_all(op, function, inputs, attributes, 1).front());
}

Tensor call(Op& op, OpFunction function, const std::vector<Argument>& inputs) {
  return call(op, function, inputs, op.node().attributes);
}

void as_standard(Op& op, OpFunction function) {
  std::vector<Argument> inputs;
  for (size_t i = 0; i < op.input_count(); ++i) inputs.push_back(argument(op, i));
  Node node = node_for(op, inputs, op.node().attributes, 0);
  node.outputs = op.node().outputs;
  const std::vector<Argument> results = results_of(function, node, op.graph(), inputs);
  for (size_t i = 0; i < results.size(); ++i) op.set(i, results[i].value, results[i].type);
}

}  // namespace ferry::onnx::microsoft
