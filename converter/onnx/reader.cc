#include "converter/onnx/reader.h"

#include <algorithm>

#include "converter/graph/ops.h"
#include "converter/preprocessing/labels.h"

namespace ferry::onnx {
namespace {

constexpr char kLine[] = "line";
constexpr int kChannels = 3;
// Default image side of the plan.
constexpr int64_t kImageSide = 640;
// The networks halve the sides five times. The maximum area is that of a square image in PaddleOCR (longer side at most
// 960), applied to any aspect ratio. Below the minimum, letters are as thin as the strokes that the networks were
// trained on.
constexpr int32_t kMultiple = 32, kMaxPixels = 960 * 960, kMinPixels = 256 * 256;
// PaddleOCR's rec_image_shape since PP-OCRv3: shorter lines are padded to this width.
constexpr int64_t kLineHeight = 48, kLineWidth = 320;
// PaddleOCR uses 1.5, which loses spaces at the ends of tightly cropped lines.
constexpr float kUnclip = 1.8f;
// Maximum line width, 85 times the height; longer lines are downscaled.
constexpr int32_t kMaxLineWidth = 4096;

std::string file_name(const Model& model) { return model.path.filename().string(); }

// Imports the file at 1x3xHxW; dimensions from `first_open` on are left open if the file has no size for them.
OnnxRequest request_for(const Model& model, size_t first_open, int64_t height, int64_t width) {
  const bool image = model.inputs.size() == 1 && model.inputs[0].has_shape && model.inputs[0].shape.size() == 4 &&
                     (model.inputs[0].shape[1].size < 0 || model.inputs[0].shape[1].size == kChannels);
  if (!image) fail("%s: expected a network for one image of three colours, Nx3xHxW", file_name(model).c_str());
  const ValueInfo& input = model.inputs[0];
  const int64_t sizes[] = {1, kChannels, height, width};
  OnnxRequest request{.file = model.path};
  std::string shape = input.name + "=";
  for (size_t d = 0; d < 4; ++d) {
    const int64_t size = input.shape[d].size;
    if (size < 0 && d >= first_open) request.dynamic.push_back(input.name + ":" + std::to_string(d));
    shape += (d > 0 ? "x" : "") + std::to_string(size < 0 ? sizes[d] : size);
  }
  request.shapes = {shape};
  return request;
}

std::string shape_of(const Graph& graph) { return to_string(graph.shape(graph.table.outputs.front()->tensor)); }

// The postprocessing needs probabilities: it compares neighbours, and their mean is a line's score.
void end_with_softmax(Graph& line) {
  fbs::PortT& output = *line.table.outputs.front();
  TensorId tensor = output.tensor;
  const fbs::OperatorT* from = nullptr;
  for (auto op = line.table.operators.rbegin(); op != line.table.operators.rend(); ++op) {
    if ((*op)->outputs.front() != tensor) continue;
    from = op->get();
    if (!from->params.AsReshape() && !from->params.AsTranspose()) break;
    tensor = from->inputs.front();
  }
  if (from == nullptr || !from->params.AsSoftmax()) output.tensor = softmax({&line, output.tensor}).id;
}

std::vector<std::string> labels_of(const std::filesystem::path& path, const std::string& network, size_t classes) {
  std::vector<std::string> labels = read_labels(path);
  const size_t characters = labels.size();
  labels.insert(labels.begin(), "");
  if (labels.size() + 1 == classes) labels.push_back(" ");
  if (labels.size() != classes)
    fail("%s has %zu characters, which with the space and the blank are %zu classes, but %s has %zu",
         path.filename().string().c_str(), characters, characters + 2, network.c_str(), classes);
  return labels;
}

// Channels are in OpenCV's order, BGR.
std::unique_ptr<fbs::PreprocessT> preprocessing(std::vector<float> mean, std::vector<float> std) {
  auto out = std::make_unique<fbs::PreprocessT>();
  out->color = fbs::ColorOrder::BGR;
  out->mean = std::move(mean);
  out->std = std::move(std);
  return out;
}

}  // namespace

OnnxRequest finder_request(const Model& finder) {
  OnnxRequest request = request_for(finder, 2, kImageSide, kImageSide);
  if (request.dynamic.size() == 1)
    fail("%s: input '%s' has one open and one fixed side: expected both or none open", file_name(finder).c_str(),
         finder.inputs[0].name.c_str());
  return request;
}

OnnxRequest line_request(const Model& line) { return request_for(line, 3, kLineHeight, kLineWidth); }

void join_reader(Graph& finder, bool any_size, Graph&& line, bool any_length, const std::filesystem::path& characters) {
  const std::string network = line.table.provenance->source;
  const Shape map = finder.shape(finder.table.outputs.front()->tensor);
  if (map.rank != 4 || map[0] != 1 || map[3] != 1)
    fail("%s: outputs %s, expected one map of text probabilities", finder.table.provenance->source.c_str(),
         shape_of(finder).c_str());
  const Shape classes = line.shape(line.table.outputs.front()->tensor);
  if (classes.rank != 3 || classes[0] != 1)
    fail("%s: outputs %s, expected character probabilities along a line, 1 x positions x classes", network.c_str(),
         shape_of(line).c_str());
  line.table.labels = labels_of(characters, network, static_cast<size_t>(classes[2]));
  end_with_softmax(line);

  fbs::PreprocessT& seen =
      *(finder.table.preprocess = preprocessing({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}));
  if (any_size) {
    seen.resize_mode = fbs::ResizeMode::PixelBudget;
    seen.multiple_of = kMultiple;
    seen.min_pixels = kMinPixels;
    seen.max_pixels = kMaxPixels;
  } else {
    const Shape input = finder.shape(finder.table.inputs.front()->tensor);
    seen.resize_mode = fbs::ResizeMode::Exact;
    seen.resize_h = input[1];
    seen.resize_w = input[2];
  }
  const Shape input = line.shape(line.table.inputs.front()->tensor);
  fbs::PreprocessT& fitted = *(line.table.preprocess = preprocessing({0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}));
  fitted.resize_mode = fbs::ResizeMode::Fit;
  fitted.resize_h = input[1];
  fitted.resize_w = any_length ? std::max(kMaxLineWidth, input[2]) : input[2];
  fitted.fill = {0.5f, 0.5f, 0.5f};  // normalized: 0

  fbs::OcrT params;
  params.graph = kLine;
  params.unclip = kUnclip;
  finder.table.postprocess = std::make_unique<fbs::PostprocessT>();
  finder.table.postprocess->task = fbs::Task::Ocr;
  finder.table.postprocess->params.Set(params);
  line.table.name = kLine;
  line.table.provenance = nullptr;
  finder.add_graph(std::move(line));
}

}  // namespace ferry::onnx
