#include "converter/preprocessing/prepare_images.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "converter/checkpoint/json.h"
#include "converter/graph/elementary.h"
#include "converter/graph/ops.h"
#include "converter/preprocessing/labels.h"
#include "converter/preprocessing/preprocessing.h"

namespace ferry {
namespace {

// Rank 0: there is none.
Shape first_input(const Graph& graph) {
  const auto& inputs = graph.table.inputs;
  return inputs.empty() ? Shape{} : graph.shape(inputs.front()->tensor);
}

Family::Images images_like(Families families, const std::string& like) {
  for (const bool whole : {true, false}) {
    for (const Family* family : families) {
      for (const Variant* variant : family->variants()) {
        if (!variant->is_called(like, whole)) continue;
        if (auto known = family->images(*variant)) return std::move(*known);
        fail("--like %s: a %s has no preprocessing that another network could use", like.c_str(), family->name());
      }
    }
  }
  fail("--like %s: no model is called so: `ferry models` lists those known", like.c_str());
}

const fbs::OperatorT* producer_of(const Graph& graph, TensorId tensor) {
  for (const auto& op : graph.table.operators)
    if (std::find(op->outputs.begin(), op->outputs.end(), tensor) != op->outputs.end()) return op.get();
  return nullptr;
}

// How many classes output 0 scores; 0: it is no row of scores.
int class_count(const Graph& graph) {
  if (graph.table.outputs.empty()) return 0;
  const Shape shape = graph.shape(graph.table.outputs.front()->tensor);
  const bool map = shape.rank == 4 && shape[1] == 1 && shape[2] == 1;  // ONNX's own zoo leaves pooled maps so
  return shape.rank == 2 || map ? shape[shape.rank - 1] : 0;
}

// Whether all numbers stay where they are: of a reshape, of rounding, and of a transpose that moves dimensions of 1
// only.
bool keeps_order(const Graph& graph, const fbs::OperatorT& op) {
  const fbs::TransposeT* transpose = op.params.AsTranspose();
  if (!transpose) return op.params.AsReshape() != nullptr || op.params.AsRequantize() != nullptr;
  const Shape shape = graph.shape(op.inputs.front());
  int last = -1;
  for (const int axis : transpose->perm) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// The softmax or sigmoid that ends the network, whose numbers only get other dimensions and are rounded after it. Null:
// none does.
const fbs::OperatorT* activation_at_end(const Graph& graph, TensorId tensor, int classes) {
  const fbs::OperatorT* last = producer_of(graph, tensor);
  while (last && keeps_order(graph, *last)) last = producer_of(graph, last->inputs.front());
  if (!last) return nullptr;
  if (last->params.AsSoftmax()) {
    const Shape rows = graph.shape(last->outputs.front());
    return rows[rows.rank - 1] == classes ? last : nullptr;
  }
  const fbs::UnaryT* unary = last->params.AsUnary();
  return unary && unary->kind == fbs::UnaryKind::Sigmoid ? last : nullptr;
}

// Output 0 becomes logits [N,classes].
fbs::Task give_logits(Graph& graph, int classes, std::vector<std::string>* notes) {
  fbs::PortT& output = *graph.table.outputs.front();
  const int images = graph.shape(output.tensor)[0];
  fbs::Task task = fbs::Task::Classification;
  if (const fbs::OperatorT* last = activation_at_end(graph, output.tensor, classes)) {
    const bool sigmoid = last->params.AsUnary() != nullptr;
    if (sigmoid) task = fbs::Task::MultiLabel;
    notes->push_back("output '" + output.name + "' gives what the file's " + (sigmoid ? "sigmoid" : "softmax") +
                     " takes: answers have it from there");
    output.tensor = last->inputs.front();
  }
  if (graph.shape(output.tensor).rank == 2) return task;
  output.tensor = reshape({&graph, output.tensor}, {images, classes}).id;
  output.source_layout = fbs::Layout::Same;
  return task;
}

void set_classes(Graph& graph, std::vector<std::string> labels, int classes, std::vector<std::string>* notes) {
  fbs::GraphT& table = graph.table;
  const fbs::Task task = give_logits(graph, classes, notes);
  table.labels = std::move(labels);
  table.postprocess = std::make_unique<fbs::PostprocessT>();
  table.postprocess->task = task;
  table.postprocess->top = std::min(table.postprocess->top, classes);
}

// What the foreground's sigmoid, or the choice of a class, is computed from: it passes a softmax, too.
Tensor logits_of(Graph& graph, TensorId tensor, bool segmentation) {
  while (const fbs::OperatorT* op = producer_of(graph, tensor)) {
    const fbs::UnaryT* unary = op->params.AsUnary();
    const bool sigmoid = unary && unary->kind == fbs::UnaryKind::Sigmoid;
    const bool chooses = op->params.AsTopK() || op->params.AsSoftmax();
    if (!keeps_order(graph, *op) && !op->params.AsCast() && !(segmentation ? chooses : sigmoid)) break;
    tensor = op->inputs.front();
    if (sigmoid || op->params.AsTopK()) break;
  }
  return {&graph, tensor};
}

// Makes output 0 what the task needs, and the only one.
void set_map_task(Graph& graph, const ImageRequest& request) {
  const bool segmentation = request.task == "segmentation";
  auto& outputs = graph.table.outputs;
  if (outputs.empty()) fail("--task %s: the network has no output", request.task.c_str());
  const Tensor map = logits_of(graph, outputs.front()->tensor, segmentation);
  const Shape shape = map.shape();
  const bool fits = shape.rank == 4 && shape[0] == 1 && (segmentation ? shape[3] > 1 : shape[3] == 1);
  if (map.dtype() != fbs::DType::Float32 || (!fits && !(shape.rank == 3 && shape[0] == 1)))
    fail("--task %s: output '%s' is computed from %s, expected a map %s", request.task.c_str(),
         outputs.front()->name.c_str(), to_string(shape).c_str(), segmentation ? "[1,H,W,classes]" : "[1,H,W,1]");
  const std::string name = outputs.front()->name;
  const auto layout = shape.rank == 4 ? outputs.front()->source_layout : fbs::Layout::Same;
  outputs.clear();
  graph.add_output(name, computed(map), layout);
  graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
  graph.table.postprocess->task = segmentation ? fbs::Task::SemanticSegmentation : fbs::Task::Matting;
  const int classes = shape[shape.rank - 1];
  if (!segmentation && !request.labels.empty()) fail("--labels: a foreground has no classes");
  if (!request.labels.empty())
    graph.table.labels = read_labels(request.labels, classes);
  else if (segmentation && request.classes.size() == static_cast<size_t>(classes))
    graph.table.labels = request.classes;
}

std::vector<std::string> labels_from(const std::filesystem::path& file, int classes, const Graph& graph) {
  if (classes > 0) return read_labels(file, classes);
  const auto& outputs = graph.table.outputs;
  fail("--labels: the first output is %s, expected a score for each class, [1,classes]",
       outputs.empty() ? "absent" : to_string(graph.shape(outputs.front()->tensor)).c_str());
}

// What `read` makes of the file `name` beside the ONNX file; absent, and given, where that cannot be used.
template <typename Read>
auto from_beside(const ImageRequest& request, const char* name, std::vector<std::string>* notes, const Read& read)
    -> std::optional<decltype(read(nlohmann::json()))> {
  if (request.file.empty()) return {};
  try {
    if (const nlohmann::json said = Companions(request.file.parent_path()).read_json(name); said.is_object())
      return read(said);
  } catch (const Error& error) {
    notes->push_back(std::string(name) + " beside the file is not used: " + error.what());
  }
  return {};
}

std::optional<fbs::PreprocessT> preprocessing_beside(const ImageRequest& request, std::vector<std::string>* notes) {
  constexpr const char* kFile = "preprocessor_config.json";
  auto preprocess = from_beside(request, kFile, notes, [](const nlohmann::json& said) {
    fbs::PreprocessT made = transformers_preprocessing(said);
    if (made.patch > 0) fail("it is for images that are cut into patches");
    return made;
  });
  if (preprocess) notes->push_back(std::string("images are prepared as ") + kFile + " beside the file says");
  return preprocess;
}

}  // namespace

ImageRequest image_request(const Settings& given, const std::filesystem::path& file) {
  return {.settings = image_settings(given),
          .like = given.text("like"),
          .task = given.text("task"),
          .labels = given.text("labels"),
          .file = file};
}

void prepare_images(Graph& graph, Families families, const ImageRequest& request, std::vector<std::string>* notes) {
  const Shape input = first_input(graph);
  const bool takes_images = input.rank == 4 && (input[3] == 1 || input[3] == 3);
  const int classes = class_count(graph);
  const bool given = request.settings.given();
  std::vector<std::string> labels;
  std::string labelled_by = request.like;
  std::optional<fbs::PreprocessT> preprocess;
  if (given && !request.like.empty())
    fail("--like %s: says how images are prepared, as --mean and the others do", request.like.c_str());
  if (given) {
    if (input.rank != 4) fail("the first input has %d dimensions: it takes no image to prepare", input.rank);
    preprocess = blob_preprocessing(overridden(request.own, request.settings), input[1], input[2], input[3]);
  } else if (!request.like.empty()) {
    if (!takes_images) fail("--like %s: the first input takes no image of 1 or 3 channels", request.like.c_str());
    Family::Images known = images_like(families, request.like);
    preprocess = std::move(known.preprocess);
    labels = std::move(known.labels);
  } else if (takes_images) {
    preprocess = preprocessing_beside(request, notes);
    if (!preprocess && request.own.given()) {
      preprocess = blob_preprocessing(request.own, input[1], input[2], input[3]);
      notes->push_back(request.own_note);
    }
  }
  if (preprocess && !given) {
    change_size(&*preprocess, input[1], input[2]);
    change_channels(&*preprocess, input[3]);
  }
  if (!request.task.empty()) {
    if (!preprocess)
      fail("--task %s: nothing says how an image becomes the input: --like NAME does, or --mean, --std and --resize",
           request.task.c_str());
    graph.table.preprocess = std::make_unique<fbs::PreprocessT>(std::move(*preprocess));
    return set_map_task(graph, request);
  }
  if (!request.labels.empty()) {
    labels = labels_from(request.labels, classes, graph);
  } else if (labels.empty() && !request.classes.empty()) {
    labels = request.classes;
    labelled_by = "the file";
  } else if (labels.empty() && preprocess && takes_images) {
    labels = from_beside(request, "config.json", notes, transformers_labels).value_or(std::vector<std::string>());
    labelled_by = "config.json";
  }
  if (!preprocess && (!request.labels.empty() || (!request.classes.empty() && takes_images)))
    notes->push_back(
        "nothing says how an image becomes the input: --like NAME does, --mean, --std and --resize, or a "
        "preprocessor_config.json beside the file");
  if (preprocess) graph.table.preprocess = std::make_unique<fbs::PreprocessT>(std::move(*preprocess));
  if (!labels.empty() && labels.size() == static_cast<size_t>(classes)) {
    set_classes(graph, std::move(labels), classes, notes);
  } else if (!labels.empty()) {
    notes->push_back("the " + std::to_string(labels.size()) + " class names of " + labelled_by +
                     " are not for this network's " + std::to_string(classes) + " classes: --labels FILE names those");
  } else if (preprocess && classes > 1) {
    notes->push_back("output '" + graph.table.outputs.front()->name + "' is " + std::to_string(classes) +
                     " numbers without names: where they are scores of classes, --labels FILE makes answers of them");
  }
}

}  // namespace ferry
