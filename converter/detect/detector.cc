#include "converter/detect/detector.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/detect/decode.h"
#include "converter/detect/movenet.h"
#include "converter/graph/elementary.h"
#include "converter/graph/ops.h"
#include "converter/preprocessing/labels.h"

namespace ferry::detect {
namespace {

DetectorSpec read_detector(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("--detect %s: cannot be read", path.string().c_str());
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string name = path.filename().string();
  DetectorSpec spec = parse_detector(parse_json(text, name), name);
  spec.recognised = false;
  return spec;
}

// The plan of the first detector with this name that matches. If none does, reports the error of the first one.
DecodingPlan named_plan(const Graph& graph, const std::string& name) {
  std::string problem;
  for (const DetectorSpec& spec : known_detectors()) {
    if (spec.name != name) continue;
    try {
      return plan_decoding(graph, spec, true);
    } catch (const Error& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  if (problem.empty())
    fail("--detect %s: expected one of %s, or a file.json", name.c_str(), known_names_text().c_str());
  fail("--detect %s", problem.c_str());
}

std::optional<DecodingPlan> recognised_plan(const Graph& graph) {
  for (const DetectorSpec& spec : known_detectors()) {
    if (!spec.recognised) continue;
    try {
      return plan_decoding(graph, spec, true);
    } catch (const Error&) {
    }
  }
  return {};
}

std::vector<std::string> labels_of(const DecodingPlan& plan, const std::filesystem::path& file) {
  std::vector<std::string> labels = file.empty() ? plan.spec.labels : read_labels(file);
  const auto classes = static_cast<size_t>(plan.classes);
  // Lists of training labels include the background.
  if (plan.background >= 0 && labels.size() == classes + 1) labels.erase(labels.begin() + plan.background);
  if (labels.size() == classes || (labels.empty() && file.empty())) return labels;
  if (file.empty() && plan.spec.recognised) return {};
  fail("%s has %zu names, but the network has %d classes",
       file.empty() ? plan.spec.name.c_str() : file.string().c_str(), labels.size(), plan.classes);
}

// Computes the only input from a new one of another shape or type by `convert`.
template <typename Convert>
void replace_input(Graph& graph, const Shape& shape, const Convert& convert) {
  auto& inputs = graph.table.inputs;
  const Tensor old{&graph, inputs.front()->tensor};
  const Tensor input = graph.add_input(inputs.front()->name, shape, fbs::Layout::Same);
  inputs.erase(inputs.begin());
  const Tensor made = convert(input);
  // The new operator computes the former input.
  auto& operators = graph.table.operators;
  std::rotate(operators.begin(), operators.end() - 1, operators.end());
  for (size_t i = 1; i < operators.size(); ++i)
    std::replace(operators[i]->inputs.begin(), operators[i]->inputs.end(), old.id, made.id);
}

// Images are Float32: a network of integer levels converts them.
void take_levels(Graph& graph) {
  const TensorId input = graph.table.inputs.front()->tensor;
  if (graph.dtype(input) != fbs::DType::Int32) return;
  const fbs::Layout layout = graph.table.inputs.front()->source_layout;
  replace_input(graph, graph.shape(input), [](Tensor levels) { return cast_to(levels, fbs::DType::Int32); });
  graph.table.inputs.front()->source_layout = layout;
}

// TensorFlow's images are channels last, but the importer assumes channels first: restores the file's input shape and
// adds a transpose.
void take_channels_last(Graph& graph) {
  auto& inputs = graph.table.inputs;
  if (inputs.size() != 1) return;
  fbs::PortT& port = *inputs.front();
  const Shape seen = graph.shape(port.tensor);
  if (port.source_layout != fbs::Layout::NCHW || seen.rank != 4 || seen[2] != 3 || seen[3] == 1 || seen[3] == 3) return;
  replace_input(graph, {seen[0], seen[3], seen[1], seen[2]}, [](Tensor x) { return transpose(x, {0, 2, 3, 1}); });
}

// Sets preprocessing, labels and task of a graph whose outputs are boxes.
void finish(Graph& graph, const DecodingPlan& plan, const DetectorRequest& request) {
  const DetectorSpec& spec = plan.spec;
  const ImageSettings image = overridden(spec.image, request.image);
  if (!image.given())
    fail("%s: the preprocessing is unknown: add an image to the detector file, or use --resize, --mean and --std",
         spec.name.c_str());
  fbs::GraphT& table = graph.table;
  table.preprocess =
      std::make_unique<fbs::PreprocessT>(blob_preprocessing(image, plan.height, plan.width, plan.channels));
  table.labels = labels_of(plan, request.labels);
  take_levels(graph);
  table.postprocess = std::make_unique<fbs::PostprocessT>();
  table.postprocess->task = fbs::Task::Detection;
  table.postprocess->params.Set(fbs::DetectionT(spec.params));
}

Detector decode(Graph& graph, const DecodingPlan& plan, const DetectorRequest& request, bool recognised) {
  append_decoding(graph, plan);
  finish(graph, plan, request);
  return Detector{plan.spec.name, recognised, plan.boxes.rows, plan.classes};
}

}  // namespace

Detector make_detector(Graph& graph, const DetectorSpec& spec, const DetectorRequest& request) {
  return decode(graph, plan_decoding(graph, spec, false), request, true);
}

std::optional<Detector> make_detector(Graph& graph, const DetectorRequest& request) {
  std::optional<DecodingPlan> plan;
  if (request.detector.empty() || request.detector == kMoveNet) {
    if (const auto movenet = make_movenet(graph)) {
      finish(graph, *movenet, request);
      return Detector{kMoveNet, request.detector.empty(), 1, 1};
    }
  }
  if (request.detector == kMoveNet) fail("--detect %s: expected one image and one output [1,1,17,3]", kMoveNet);
  if (request.detector.empty()) {
    plan = recognised_plan(graph);
    if (!plan) return {};
  } else {
    take_channels_last(graph);
    plan = request.detector.ends_with(".json") ? plan_decoding(graph, read_detector(request.detector), false)
                                               : named_plan(graph, request.detector);
  }
  return decode(graph, *plan, request, request.detector.empty());
}

}  // namespace ferry::detect
