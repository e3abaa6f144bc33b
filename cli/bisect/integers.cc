#include "cli/bisect/integers.h"

#include <cmath>
#include <cstring>

#include "cli/parity/equal_inputs.h"
#include "converter/graph/graph.h"

namespace ferry::bisect {

std::set<TensorId> constants_of_integers(const fbs::GraphT& graph) {
  std::set<TensorId> out;
  for (const auto& op : graph.operators) {
    const fbs::TensorT& first = *graph.tensors[index_of(op->inputs.front())];
    if (first.buffer != 0 || first.dtype != fbs::DType::Int8) continue;
    for (const TensorId input : op->inputs)
      if (graph.tensors[index_of(input)]->buffer != 0) out.insert(input);
  }
  return out;
}

Array real(Array array) {
  if (array.dtype != fbs::DType::Int8 || array.scales.size() != 1) return array;
  for (double& v : array.values) v = (v - array.zero_point) * static_cast<double>(array.scales[0]);
  return {array.shape, std::move(array.values)};
}

Array integers_of(Array real, const Type& type) {
  real.dtype = fbs::DType::Int8;
  real.scales = {type.float_scale};
  real.zero_point = type.zero_point;
  real.activation = true;
  for (double& v : real.values) v = std::nearbyint(v / static_cast<double>(type.float_scale)) + type.zero_point;
  return real;
}

Array integer_constant(const StoredConstant& stored) {
  Array out{stored.shape, {}, fbs::DType::Int8};
  for (const std::byte byte : stored.bytes) out.values.push_back(static_cast<int8_t>(byte));
  out.zero_point = stored.type.zero_point;
  out.activation = stored.type.float_scale != 0;
  if (out.activation) {
    out.scales = {stored.type.float_scale};
  } else {
    out.scales.resize(stored.scales.size() / sizeof(float));
    std::memcpy(out.scales.data(), stored.scales.data(), out.scales.size() * sizeof(float));
  }
  return out;
}

bool within_a_step(const Array& ours, const Array& right, const Type& type) {
  if (ours.shape != right.shape) return false;
  double most = 0;
  for (size_t i = 0; i < ours.values.size(); ++i) {
    const double error = std::fabs(ours.values[i] - right.values[i]);
    if (!(error <= most)) most = error;
  }
  return most <= parity::kOneStep * static_cast<double>(type.float_scale);
}

TensorId add_real(fbs::GraphT* graph, TensorId integers) {
  auto tensor = std::make_unique<fbs::TensorT>();
  tensor->shape = graph->tensors[index_of(integers)]->shape;
  graph->tensors.push_back(std::move(tensor));
  const TensorId out = tensor_at(graph->tensors.size() - 1);
  fbs::RequantizeT requantize;
  requantize.to = fbs::DType::Float32;
  auto op = std::make_unique<fbs::OperatorT>();
  op->params.Set(requantize);
  op->inputs = {integers};
  op->outputs = {out};
  graph->operators.push_back(std::move(op));
  return out;
}

}  // namespace ferry::bisect
