#include "converter/landmarks/landmarks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/detect/outputs.h"
#include "converter/graph/elementary.h"
#include "converter/graph/ops.h"
#include "converter/landmarks/known.h"

namespace ferry::landmarks {
namespace {

constexpr const char* kGraph = "points";
constexpr int kMaximum = 16;  // objects, each of which is a run of the second network

int64_t elements(const Graph& graph, const fbs::PortT& port) { return graph.shape(port.tensor).elements(); }

std::string outputs_text(const Graph& graph) {
  std::string text;
  for (const auto& port : graph.table.outputs)
    text += (text.empty() ? "" : ", ") + port->name + " of " + std::to_string(elements(graph, *port));
  return text;
}

struct Found {
  const Network* network = nullptr;
  TensorId points = TensorId::None;
  std::vector<TensorId> singles;  // outputs of one element
  TensorId heatmaps = TensorId::None;
  std::vector<TensorId> refinements = {};
};

// The outputs with refinements of the points; fewer than the network has if one is missing.
std::vector<TensorId> find_refinements(const Graph& graph, const Network& network) {
  std::vector<TensorId> found;
  for (const auto& port : graph.table.outputs)
    if (found.size() < network.refinements.size() && graph.dtype(port->tensor) == fbs::DType::Float32 &&
        elements(graph, *port) == 2 * static_cast<int64_t>(network.refinements[found.size()].size()))
      found.push_back(port->tensor);
  return found;
}

Found find_network(const Graph& graph, const std::string& detector, const std::string& file) {
  Found found;
  std::string expected;
  for (const auto& port : graph.table.outputs)
    if (graph.dtype(port->tensor) == fbs::DType::Float32 && elements(graph, *port) == 1)
      found.singles.push_back(port->tensor);
  for (const Network& network : known_networks()) {
    if (network.detector != detector) continue;
    const int64_t size = int64_t{network.rows} * network.columns;
    std::vector<TensorId> refinements = find_refinements(graph, network);
    if (refinements.size() < network.refinements.size()) continue;
    if (network.refinements.empty()) expected += (expected.empty() ? "" : " or ") + std::to_string(size);
    for (const auto& port : graph.table.outputs) {
      if (found.network || graph.dtype(port->tensor) != fbs::DType::Float32 || elements(graph, *port) != size) continue;
      found.network = &network;
      found.points = port->tensor;
      found.refinements = std::move(refinements);
    }
  }
  for (const auto& port : graph.table.outputs) {
    const Shape shape = graph.shape(port->tensor);
    if (found.network && found.network->heatmaps && shape.rank == 4 && shape[1] > 1 && shape[3] == found.network->rows)
      found.heatmaps = port->tensor;
  }
  if (expected.empty())
    fail(
        "%s: no network is known that finds points in the boxes of %s; those of blazeface, blazepalm and blazepose are",
        file.c_str(), detector.c_str());
  const size_t singles = found.network && found.network->handed ? 2 : 1;
  if (!found.network || found.singles.size() < singles)
    fail("%s: has the outputs %s: expected points of %s elements, as of the network after %s, and %zu of one element",
         file.c_str(), outputs_text(graph).c_str(), expected.c_str(), detector.c_str(), singles);
  return found;
}

Tensor probability(Tensor x) {
  detect::Origin origin;
  detect::find_origin(*x.graph, x.id, &origin);
  return reshape(origin.sigmoid ? x : sigmoid(x), {1, 1});
}

Tensor over_cells(Tensor x, fbs::ReduceKind kind) { return reduce(x, kind, {1, 2}, true); }

// One axis of a heatmap [1,h,w,P]: distances of its cells to the cell of each point.
struct Cells {
  Tensor numbers;  // [1,1,w,1] or [1,h,1,1]
  Tensor near;     // 1 up to three cells from the point's, else 0; broadcast with `numbers`
  Tensor inside;   // [1,1,1,P]: 1 if the point lies in the map, else 0
};

Cells cells_of(Tensor points, Tensor heatmaps, int axis) {
  constexpr double kReach = 3;
  Graph& graph = *points.graph;
  const Shape map = heatmaps.shape();
  const int dim = 2 - axis, size = map[dim];
  std::vector<double> counted;
  for (int i = 0; i < size; ++i) counted.push_back(i);
  Shape shape{1, 1, 1, 1};
  shape[dim] = size;
  const Tensor numbers = graph.add_constant("", shape, std::move(counted));
  const Tensor place = reshape(slice(points, 2, axis, 1) * size, {1, 1, 1, map[3]});
  const Tensor cell = unary(place, fbs::UnaryKind::Floor);
  const Tensor distance = unary(numbers - cell, fbs::UnaryKind::Abs);
  return {numbers, clamp(distance * -1.0 + (kReach + 1), 0, 1),
          clamp(cell + 1.0, 0, 1) * clamp(cell * -1.0 + static_cast<double>(size), 0, 1)};
}

// Points move to the mean of the cells around them, weighted by their probabilities, if one of these exceeds one half
// (MediaPipe's RefineLandmarksFromHeatmap, with a kernel of 7). `points`: [1,P,2].
Tensor refined(Tensor points, Tensor heatmaps) {
  constexpr double kLeast = 0.5, kSteep = 1e6, kNothing = 1e-6;
  const Shape map = heatmaps.shape();
  const Cells x = cells_of(points, heatmaps, 0), y = cells_of(points, heatmaps, 1);
  const Tensor weights = sigmoid(heatmaps) * x.near * y.near;
  const Tensor sum = clamp(over_cells(weights, fbs::ReduceKind::Sum), kNothing, INFINITY);
  const Tensor taken =
      clamp((over_cells(weights, fbs::ReduceKind::Max) + -kLeast) * kSteep, 0, 1) * x.inside * y.inside;
  std::vector<Tensor> axes;
  for (const Cells* cells : {&x, &y}) {
    const int axis = cells == &x ? 0 : 1;
    const Tensor mean = binary(fbs::BinaryKind::Div, over_cells(weights * cells->numbers, fbs::ReduceKind::Sum), sum) *
                        (1.0 / map[2 - axis]);
    const Tensor old = reshape(slice(points, 2, axis, 1), {1, 1, 1, map[3]});
    axes.push_back(reshape(old + (mean - old) * taken, {1, map[3], 1}));
  }
  return concat(axes, 2);
}

// `points` [1,P,2] with those of further outputs: [1,network.points,2].
Tensor merged(Tensor points, const Found& found) {
  Graph& graph = *points.graph;
  const Network& network = *found.network;
  std::vector<int32_t> row_of(static_cast<size_t>(network.points));
  std::iota(row_of.begin(), row_of.end(), 0);
  std::vector<Tensor> parts = {points};
  int32_t row = network.rows;
  for (size_t i = 0; i < found.refinements.size(); ++i) {
    const std::vector<int>& list = network.refinements[i];
    for (const int point : list) row_of[static_cast<size_t>(point)] = row++;
    parts.push_back(reshape({&graph, found.refinements[i]}, {1, static_cast<int32_t>(list.size()), 2}));
  }
  fbs::GatherT gather;
  gather.axis = 1;
  const Tensor rows = graph.add_constant("", Shape{network.points}, std::move(row_of));
  return graph.add_op("", gather, {concat(parts, 1), rows});
}

void set_outputs(Graph& graph, const Found& found, const Shape& input) {
  const Network& network = *found.network;
  const Tensor rows = reshape({&graph, found.points}, {1, network.rows, network.columns});
  const Tensor pixel = graph.add_constant("", Shape{2}, std::vector<double>{1.0 / input[2], 1.0 / input[1]});
  Tensor points = slice(rows, 2, 0, 2);
  if (!found.refinements.empty()) points = merged(points, found);
  points = points * pixel;
  if (found.heatmaps != TensorId::None) points = refined(points, {&graph, found.heatmaps});
  points = slice(points, 1, 0, network.points);
  const Tensor score = probability({&graph, found.singles[0]});
  std::vector<std::pair<const char*, Tensor>> outputs = {{"points", points}, {"score", score}};
  if (network.visibility >= 0) {
    const Tensor logits = slice(slice(rows, 1, 0, network.points), 2, network.visibility, 1);
    outputs.emplace_back("point_scores", reshape(sigmoid(logits), {1, network.points}));
  }
  if (network.handed) {
    const Tensor first = probability({&graph, found.singles[1]});
    outputs.emplace_back("classes", concat({first, first * -1.0 + 1.0}, 1));
  }
  graph.table.outputs.clear();
  for (const auto& [name, tensor] : outputs) graph.add_output(name, tensor, fbs::Layout::Same);
}

}  // namespace

fbs::LandmarksT make_point_finder(Graph& graph, const std::string& detector, const std::string& file) {
  const auto& inputs = graph.table.inputs;
  const Shape input = inputs.empty() ? Shape{} : graph.shape(inputs.front()->tensor);
  if (inputs.size() != 1 || input.rank != 4 || input[0] != 1 || input[3] != 3 ||
      graph.dtype(inputs.front()->tensor) != fbs::DType::Float32)
    fail("%s: has %zu inputs, the first of %d dimensions: a network that finds points has one, an RGB image",
         file.c_str(), inputs.size(), input.rank);
  const Found found = find_network(graph, detector, file);
  const Network& network = *found.network;
  set_outputs(graph, found, input);
  graph.table.preprocess = std::make_unique<fbs::PreprocessT>();
  graph.table.labels = network.labels;
  graph.table.postprocess = nullptr;

  fbs::LandmarksT params;
  params.graph = kGraph;
  params.start = static_cast<uint8_t>(network.start);
  params.end = static_cast<uint8_t>(network.end);
  params.angle = network.angle;
  params.around_start = network.around_start;
  params.shift_y = network.shift_y;
  params.scale = network.scale;
  params.detection = std::make_unique<fbs::DetectionT>();
  params.detection->points = network.names;
  for (const std::vector<int>& line : network.lines) {
    for (size_t i = 1; i < line.size(); ++i) {
      params.detection->lines.push_back(static_cast<uint16_t>(line[i - 1]));
      params.detection->lines.push_back(static_cast<uint16_t>(line[i]));
    }
  }
  return params;
}

void join(Graph& detector, Graph&& point_finder, fbs::LandmarksT params) {
  fbs::PostprocessT& post = *detector.table.postprocess;
  fbs::DetectionT boxes = *post.params.AsDetection();
  boxes.maximum = std::min(boxes.maximum, kMaximum);
  boxes.points = std::move(params.detection->points);
  boxes.lines = std::move(params.detection->lines);
  *params.detection = std::move(boxes);
  post.task = fbs::Task::Landmarks;
  post.params.Set(std::move(params));
  point_finder.table.name = kGraph;
  point_finder.table.provenance = nullptr;
  detector.add_graph(std::move(point_finder));
}

}  // namespace ferry::landmarks
