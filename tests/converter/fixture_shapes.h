// The shapes of a converted graph's values at the inputs of a fixture.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "converter/graph/graph.h"
#include "converter/reference/interpreter.h"
#include "sdk/operators/shape_rules.h"

namespace ferry {

// An input's shape with its open dimensions set to this size.
inline Shape opened(const fbs::GraphT& graph, const fbs::PortT& input, int32_t size) {
  Shape shape;
  for (const int32_t d : graph.tensors[index_of(input.tensor)]->shape) {
    const bool open = !input.bound.empty() && input.bound[static_cast<size_t>(shape.rank)] > d;
    shape[shape.rank++] = open ? size : d;
  }
  return shape;
}

// The size of open dimensions at the fixture's inputs, one of which has the name of the graph's first input; 0 if no
// dimension is open.
inline int32_t open_size(const fbs::GraphT& graph, const nlohmann::json& inputs) {
  const fbs::PortT& first = *graph.inputs.front();
  for (const auto& input : inputs) {
    if (input["name"] != first.name && input["name"] != "input/" + first.name) continue;
    const auto& declared = graph.tensors[index_of(first.tensor)]->shape;
    for (size_t d = 0; d < first.bound.size(); ++d)
      if (first.bound[d] > declared[d]) return input["shape"][d];
  }
  return 0;
}

// The shape of every value at the fixture's inputs: as declared, or the oracle's if a dimension is open.
inline std::function<Shape(TensorId)> shapes_of(const Graph& graph, const nlohmann::json& inputs) {
  if (graph.table.inputs[0]->bound.empty()) return [&graph](TensorId tensor) { return graph.shape(tensor); };
  std::vector<reference::Array> zeros;
  for (const auto& input : graph.table.inputs) {
    const Shape shape = opened(graph.table, *input, open_size(graph.table, inputs));
    const fbs::DType dtype = graph.dtype(input->tensor);
    zeros.push_back({shape, std::vector<double>(static_cast<size_t>(shape.elements())), dtype});
  }
  std::vector<reference::State> states = reference::empty_states(graph);
  return [values = reference::interpret(graph, zeros, &states)](TensorId tensor) { return values.at(tensor).shape; };
}

// For another graph than the first. A prompted graph has as many points as the fixture, plus a box's corners, or the
// padding point that frameworks add without a box.
inline std::function<Shape(TensorId)> shapes_beside(const fbs::GraphT& graph, const nlohmann::json& inputs) {
  int32_t points = 0;
  bool box = false;
  for (const auto& input : inputs) {
    const std::string name = input["name"];
    const auto& shape = input["shape"];
    if (name.ends_with("_coords") || name.ends_with("_points")) points += shape[shape.size() - 2].get<int32_t>();
    box = box || name.ends_with("boxes");
  }
  points += box ? 2 : 1;
  const int32_t open = open_size(graph, inputs);
  PerTensor<Shape> shapes(graph.tensors.size(), Shape{});
  for (const TensorId tensor : TensorIds(graph.tensors.size()))
    for (const int32_t size : graph.tensors[index_of(tensor)]->shape) shapes[tensor][shapes[tensor].rank++] = size;
  for (const auto& input : graph.inputs) shapes[input->tensor] = opened(graph, *input, open > 0 ? open : points);
  for (const auto& op : graph.operators) {
    std::vector<Shape> of;
    for (const TensorId input : op->inputs) of.push_back(shapes[input]);
    const SerializedOp serialized(*op);
    const Status status = infer_shape(*serialized, of, &shapes[op->outputs.front()]);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  return [shapes](TensorId tensor) { return shapes[tensor]; };
}

}  // namespace ferry
