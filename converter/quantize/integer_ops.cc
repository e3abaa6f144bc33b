#include "converter/quantize/integer_ops.h"

#include <utility>

#include "converter/reference/reference.h"

namespace ferry::int8 {

TensorId add_activation(Graph& graph, const std::string& name, const Shape& shape, const Affine& affine) {
  auto tensor = std::make_unique<fbs::TensorT>();
  tensor->name = name;
  tensor->shape.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
  tensor->dtype = fbs::DType::Int8;
  graph.table.tensors.push_back(std::move(tensor));
  const TensorId out = tensor_at(graph.table.tensors.size() - 1);
  graph.set_quantization(out, affine.scale, affine.zero_point);
  return out;
}

std::vector<int8_t> table_of(const fbs::OperatorT& op, const Affine& input, const Affine& output) {
  reference::Array reals{Shape{256}, {}};
  for (int i = -128; i < 128; ++i) reals.values.push_back(input.real(i));
  const SerializedOp serialized(op);
  const reference::Array* const inputs[] = {&reals};
  std::vector<int8_t> table;
  for (const double y : reference::compute(*serialized, inputs).values)
    table.push_back(static_cast<int8_t>(output.integer(y)));
  return table;
}

Tensor add_table(Graph& graph, const fbs::OperatorT& op, const Affine& input, const Affine& output) {
  return add_operand(graph, op.name + ".table", Shape{256}, table_of(op, input, output), output);
}

Tensor add_operand(Graph& graph, const std::string& name, const Shape& shape, std::vector<int8_t> integers,
                   const Affine& affine) {
  const Tensor out = graph.add_constant(name, fbs::DType::Int8, shape, hold(std::move(integers)));
  graph.set_quantization(out.id, affine.scale, affine.zero_point);
  return out;
}

std::vector<Tensor> add_weight(Graph& graph, const std::string& name, const Shape& shape, const Weight& weight,
                               float input, float output) {
  ChannelScales scales = channel_scales(weight, input, output);
  const Shape channels{static_cast<int32_t>(weight.channels)};
  const Tensor integers = graph.add_constant(name, fbs::DType::Int8, shape, hold(std::move(scales.integers)));
  auto per_channel = std::make_unique<fbs::QuantizationT>();
  per_channel->scale = graph.add_constant(name + ".scale", channels, std::move(scales.scales)).id;
  per_channel->zero_point = weight.zero_point;
  graph.at(integers.id).quantization = std::move(per_channel);
  return {integers, graph.add_constant(name + ".bias", channels, std::move(scales.bias))};
}

}  // namespace ferry::int8
