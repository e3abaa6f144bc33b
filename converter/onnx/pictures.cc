#include "converter/onnx/pictures.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "converter/checkpoint/json.h"
#include "converter/checkpoint/mapped_file.h"
#include "converter/graph/ops.h"
#include "converter/recipes/labels.h"
#include "converter/recipes/recipes.h"

namespace ferry::onnx {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// [N,H,W,C] of the first input; rank 0: it takes no picture.
Shape picture_input(const Graph& graph) {
  const auto& inputs = graph.table.inputs;
  const Shape shape = inputs.empty() ? Shape{} : graph.shape(inputs.front()->tensor);
  return shape.rank == 4 && (shape[3] == 1 || shape[3] == 3) ? shape : Shape{};
}

// By its whole name, as `ferry models` lists it, or by its architecture's.
Family::Pictures pictures_like(Families families, const std::string& like) {
  for (const bool whole : {true, false}) {
    for (const Family* family : families) {
      for (const Variant* variant : family->variants()) {
        const std::string name = whole ? variant->name() : variant->architecture;
        if (like != name && like != variant->framework + "/" + name && !(whole && like == variant->hub)) continue;
        if (auto known = family->pictures(*variant)) return std::move(*known);
        fail("--like %s: a %s has no recipe that another network could use", like.c_str(), family->name());
      }
    }
  }
  fail("--like %s: no model is called so: `ferry models` lists those known", like.c_str());
}

// Null where it is not there.
Json file_beside(const fs::path& file, const char* name) {
  const fs::path path = fs::absolute(file).parent_path() / name;
  if (!fs::is_regular_file(path)) return {};
  const auto text = MappedFile::open(path);
  return parse_json({reinterpret_cast<const char*>(text->bytes().data()), text->bytes().size()}, name);
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

// Whether a transpose leaves all numbers where they are: it moves dimensions of 1 only.
bool keeps_order(const Graph& graph, const fbs::OperatorT& op) {
  const fbs::TransposeT* transpose = op.params.AsTranspose();
  if (!transpose) return op.params.AsReshape() != nullptr;
  const Shape shape = graph.shape(op.inputs.front());
  int last = -1;
  for (const int axis : transpose->perm) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// The softmax or sigmoid that ends the network, whose numbers only get other dimensions after it. Null: none does.
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
  const int pictures = graph.shape(output.tensor)[0];
  fbs::Task task = fbs::Task::Classification;
  if (const fbs::OperatorT* last = activation_at_end(graph, output.tensor, classes)) {
    const bool sigmoid = last->params.AsUnary() != nullptr;
    if (sigmoid) task = fbs::Task::MultiLabel;
    notes->push_back("output '" + output.name + "' gives what the file's " + (sigmoid ? "sigmoid" : "softmax") +
                     " takes: answers have it from there");
    output.tensor = last->inputs.front();
  }
  if (graph.shape(output.tensor).rank == 2) return task;
  output.tensor = reshape({&graph, output.tensor}, {pictures, classes}).id;
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

std::vector<std::string> labels_from(const PictureRequest& request, int classes, const Graph& graph) {
  if (classes == 0) {
    const auto& outputs = graph.table.outputs;
    fail("--labels: the first output is %s, expected a score for each class, [1,classes]",
         outputs.empty() ? "absent" : to_string(graph.shape(outputs.front()->tensor)).c_str());
  }
  std::vector<std::string> labels = read_labels(request.labels);
  if (labels.size() != static_cast<size_t>(classes))
    fail("%s has %zu lines, but the network has %d classes", request.labels.string().c_str(), labels.size(), classes);
  return labels;
}

}  // namespace

void prepare_pictures(Graph& graph, Families families, const PictureRequest& request, std::vector<std::string>* notes) {
  const Shape input = picture_input(graph);
  const int classes = class_count(graph);
  std::vector<std::string> labels;
  std::optional<fbs::PreprocessT> recipe;
  if (request.settings.given()) {
    const auto& inputs = graph.table.inputs;
    const Shape shape = inputs.empty() ? Shape{} : graph.shape(inputs.front()->tensor);
    if (shape.rank != 4) fail("the first input has %d dimensions: it takes no picture to prepare", shape.rank);
    recipe = blob_recipe(request.settings, shape[1], shape[2], shape[3]);
  }
  if (!request.like.empty()) {
    if (recipe) fail("--like %s: says how pictures are prepared, as --mean and the others do", request.like.c_str());
    if (input.rank == 0) fail("--like %s: the first input takes no picture of 1 or 3 channels", request.like.c_str());
    Family::Pictures known = pictures_like(families, request.like);
    recipe = std::move(known.recipe);
    labels = std::move(known.labels);
  }
  if (input.rank != 0) {
    try {
      if (!recipe && !request.file.empty()) {
        if (const Json said = file_beside(request.file, "preprocessor_config.json"); said.is_object()) {
          recipe = transformers_recipe(said);
          if (recipe->patch > 0) fail("it is for pictures that are cut into patches");
          notes->push_back("pictures are prepared as preprocessor_config.json beside the file says");
        }
      }
      if (labels.empty() && request.labels.empty() && recipe)
        if (const Json said = file_beside(request.file, "config.json"); said.is_object())
          labels = transformers_labels(said);
    } catch (const Error& error) {
      notes->push_back(std::string("a configuration beside the file is not used: ") + error.what());
      recipe.reset();
    }
  }
  if (recipe) {
    if (!request.settings.given()) {
      change_size(&*recipe, input[1], input[2]);
      change_channels(&*recipe, input[3]);
    }
    graph.table.preprocess = std::make_unique<fbs::PreprocessT>(std::move(*recipe));
  }
  if (!request.labels.empty()) {
    labels = labels_from(request, classes, graph);
    if (!graph.table.preprocess)
      notes->push_back(
          "nothing says how a picture becomes the input: --like VARIANT does, --mean, --std and --resize, or a "
          "preprocessor_config.json beside the file");
  }
  if (!labels.empty() && classes > 0 && labels.size() == static_cast<size_t>(classes)) {
    set_classes(graph, std::move(labels), classes, notes);
  } else if (!labels.empty()) {
    notes->push_back("the " + std::to_string(labels.size()) + " class names of " +
                     (request.like.empty() ? "config.json" : request.like) + " are not for this network's " +
                     std::to_string(classes) + " classes: --labels FILE names those");
  }
}

}  // namespace ferry::onnx
