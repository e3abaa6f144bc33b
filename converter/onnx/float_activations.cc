#include "converter/onnx/float_activations.h"

#include "converter/onnx/cached_model.h"
#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

// A linear layer: (float)MatMulInteger(x quantised, weight) * (scale of x * scale of the weight).
struct Layer {
  const Node* last = nullptr;  // the multiplication
  std::string x, weight, scale, zero_point;
};

std::optional<Layer> read_layer(const Model& model, const Matcher& m, const Node& product) {
  if (product.inputs.size() < 3) return {};
  const Node* quantised = m.producer(product.inputs[0], "DynamicQuantizeLinear");
  const auto weight = model.constants.find(product.inputs[1]);
  if (!quantised || quantised->outputs.size() != 3 || product.inputs[2] != quantised->outputs[2] ||
      weight == model.constants.end() || weight->second.dims.size() != 2)
    return {};
  const Node* real = m.only_reader(product.outputs.front(), "Cast");
  const Node* last = real ? m.only_reader(real->outputs.front(), "Mul") : nullptr;
  const std::string* scales = last ? m.other_input(*last, real->outputs.front()) : nullptr;
  const Node* both = scales ? m.producer(*scales, "Mul") : nullptr;
  const std::string* scale = both ? m.other_input(*both, quantised->outputs[1]) : nullptr;
  const Array* values = scale ? m.constant(*scale) : nullptr;
  if (!values) return {};
  Layer layer{last, quantised->inputs[0], product.inputs[1], *scale, ""};
  if (product.inputs.size() > 3) layer.zero_point = product.inputs[3];
  const Array* zeros = layer.zero_point.empty() ? nullptr : m.constant(layer.zero_point);
  const bool by_column = values->elements() != 1;
  if (by_column && (values->dims != Dims{weight->second.dims[1]} || product.opset < 13)) return {};
  if (!layer.zero_point.empty() && (!zeros || zeros->elements() != values->elements())) return {};
  return layer;
}

}  // namespace

Model with_float_activations(const Model& model) {
  const Matcher m(model);
  Model out = model;
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    if (!is(m.nodes()[i], "MatMulInteger")) continue;
    const std::optional<Layer> layer = read_layer(model, m, m.nodes()[i]);
    if (!layer) continue;
    Node& weight = out.nodes[i];
    weight.op = "DequantizeLinear";
    weight.inputs = {layer->weight, layer->scale};
    if (!layer->zero_point.empty()) weight.inputs.push_back(layer->zero_point);
    weight.outputs = {weight.outputs.front() + ".weight"};
    if (m.constant(layer->scale)->elements() != 1)
      weight.attributes["axis"] = {.kind = Attribute::Kind::Int, .ints = {1}};
    weight.declared.clear();
    Node& product = out.nodes[static_cast<size_t>(layer->last - m.nodes().data())];
    product.op = "MatMul";
    product.inputs = {layer->x, weight.outputs.front()};
  }
  prune(&out);
  return out;
}

}  // namespace ferry::onnx
