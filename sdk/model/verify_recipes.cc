#include "sdk/model/verify_recipes.h"

#include <cmath>
#include <cstring>

#include "sdk/model/model.h"
#include "sdk/model/verify_meaning.h"
#include "sdk/operators/built_in.h"

namespace ferry {
namespace {

using Floats = flatbuffers::Vector<float>;
using Ports = flatbuffers::Vector<flatbuffers::Offset<fbs::Port>>;

// The tensor of the first port.
const fbs::Tensor& first(const fbs::Graph& graph, const Ports& ports) {
  return *graph.tensors()->Get(index_of(ports.Get(0)->tensor()));
}

// Images for display, and network inputs; satellite and microscope images have more channels.
constexpr uint32_t kMaxImageChannels = 4, kMaxInputChannels = 1024;
constexpr int32_t kImageChannels = 3;
constexpr int32_t kMaxClasses = 1 << 16;  // labels have 16 bits

Status check_range(const char* what, int32_t value, int32_t minimum, int32_t maximum) {
  if (value >= minimum && value <= maximum) return {};
  return error(FERRY_CORRUPT, "%s is %d, expected %d to %d", what, value, minimum, maximum);
}

// mean and std: both absent, or one value per channel of the image, at most `maximum` channels.
Status check_scaling(const char* where, const Floats* mean, const Floats* std, int32_t channels, uint32_t maximum) {
  if (count(mean) == 0 && count(std) == 0) return {};
  if (count(mean) != count(std) || count(mean) > maximum || count(mean) != static_cast<uint32_t>(channels))
    return error(FERRY_CORRUPT, "%s: %u means and %u deviations for %d channels, expected one a channel, at most %u",
                 where, count(mean), count(std), channels, maximum);
  for (uint32_t i = 0; i < count(mean); ++i)
    if (!std::isfinite(mean->Get(i)) || !std::isfinite(std->Get(i)) || std->Get(i) == 0)
      return error(FERRY_CORRUPT, "%s: channel %u has mean %g and deviation %g, expected finite numbers, not 0", where,
                   i, static_cast<double>(mean->Get(i)), static_cast<double>(std->Get(i)));
  return {};
}

Status check_preprocess(const fbs::Graph& graph) {
  const fbs::Preprocess* p = graph.preprocess();
  if (!p) return {};
  if (p->resize_mode() > fbs::ResizeMode::MAX || p->filter() > fbs::Filter::MAX || p->color() > fbs::ColorOrder::MAX)
    return error(
        FERRY_UNSUPPORTED, "preprocess: resize mode %u, filter %u or colour order %u is unknown to this version",
        static_cast<unsigned>(p->resize_mode()), static_cast<unsigned>(p->filter()), static_cast<unsigned>(p->color()));
  constexpr int32_t kMaxSide = 65536;
  using Mode = fbs::ResizeMode;
  const Mode mode = p->resize_mode();
  const bool budget = mode == Mode::PixelBudget;
  FERRY_TRY(check_range("preprocess: resize_h", p->resize_h(), mode == Mode::None || budget ? 0 : 1, kMaxSide));
  const bool one_edge = mode == Mode::None || mode == Mode::ShortestEdge || mode == Mode::LongestEdge;
  FERRY_TRY(check_range("preprocess: resize_w", p->resize_w(), one_edge || budget ? 0 : 1, kMaxSide));
  FERRY_TRY(check_range("preprocess: crop_h", p->crop_h(), 0, kMaxSide));
  FERRY_TRY(check_range("preprocess: crop_w", p->crop_w(), p->crop_h() > 0 ? 1 : 0, p->crop_h() > 0 ? kMaxSide : 0));
  FERRY_TRY(check_range("preprocess: multiple_of", p->multiple_of(), 1, kMaxSide));
  constexpr int32_t kMaxPixels = 1 << 28;
  FERRY_TRY(check_range("preprocess: max_pixels", p->max_pixels(), budget ? 1 : 0, kMaxPixels));
  FERRY_TRY(check_range("preprocess: min_pixels", p->min_pixels(), 0, p->max_pixels()));
  FERRY_TRY(check_range("preprocess: patch", p->patch(), 0, 1024));
  FERRY_TRY(check_range("preprocess: patch_block", p->patch_block(), 1, 64));
  FERRY_TRY(check_range("preprocess: patch_frames", p->patch_frames(), 1, 64));
  // An older library ignores these fields, but refuses the modes that need them.
  const bool later =
      p->multiple_of() > 1 || p->max_pixels() > 0 || count(p->fill()) > 0 || p->corner() || p->patch() > 0;
  if (later && mode < Mode::LongestEdge)
    return error(FERRY_CORRUPT, "preprocess: resize mode %s with a fill, a corner, multiples, pixels or patches",
                 EnumNameResizeMode(mode));
  const Shape input = declared_shape(first(graph, *graph.inputs()));
  const bool patches = p->patch() > 0;
  const int64_t patch = int64_t{p->patch()} * p->patch() * p->patch_frames();
  if (input.rank != (patches ? 2 : 4) || (patches && input[1] != kImageChannels * patch))
    return error(FERRY_CORRUPT, "preprocess: input 0 is %s, expected %s", in_words(input).c_str(),
                 patches ? "a list of patches in colour" : "an image of 4 dimensions");
  const bool masked = graph.postprocess() && graph.postprocess()->task() == fbs::Task::Inpainting;
  // The mask's channel does not belong to the image.
  const int32_t channels = patches ? kImageChannels : input[3] - (masked ? 1 : 0);
  FERRY_TRY(check_scaling("preprocess", p->mean(), p->std(), channels, kMaxInputChannels));
  if (count(p->fill()) != 0 && count(p->fill()) != static_cast<uint32_t>(channels))
    return error(FERRY_CORRUPT, "preprocess: %u fills for %d channels, expected one a channel", count(p->fill()),
                 channels);
  return {};
}

Status check_text(const fbs::Graph& graph) {
  const fbs::Tensor& ids = first(graph, *graph.inputs());
  const fbs::Tensor& logits = first(graph, *graph.outputs());
  const Shape input = declared_shape(ids), output = declared_shape(logits);
  if (ids.dtype() != fbs::DType::Int32 || input.rank != 2 || input[0] != 1 || logits.dtype() != fbs::DType::Float32 ||
      output.rank != 3 || output[0] != 1 || output[1] != input[1])
    return error(
        FERRY_CORRUPT, "postprocess: from %s %s to %s %s, expected token ids [1,L] and logits [1,L,vocabulary]",
        EnumNameDType(ids.dtype()), in_words(input).c_str(), EnumNameDType(logits.dtype()), in_words(output).c_str());
  return {};
}

// Checks a graph from an image to a map of 1 to `maximum` channels.
Status check_places(const fbs::Graph& graph, int32_t maximum) {
  const fbs::Tensor& places = first(graph, *graph.outputs());
  const Shape input = declared_shape(first(graph, *graph.inputs())), output = declared_shape(places);
  const int32_t channels = output.rank == 4 ? output[3] : 1;
  if (input.rank != 4 || input[0] != 1 || (output.rank != 3 && output.rank != 4) || output[0] != 1 ||
      channels > maximum || places.dtype() != fbs::DType::Float32 || graph.preprocess() == nullptr)
    return error(FERRY_CORRUPT,
                 "postprocess: from %s to %s %s, expected an image with a recipe and Float32 places of it, at most %d "
                 "channels",
                 in_words(input).c_str(), EnumNameDType(places.dtype()), in_words(output).c_str(), maximum);
  return {};
}

Status check_depth(const fbs::Graph& graph, const fbs::Depth& params) {
  if (!(params.maximum() >= 0) || !std::isfinite(params.maximum()))
    return error(FERRY_CORRUPT, "postprocess: depth of at most %g metres, expected a finite number, 0 or more",
                 static_cast<double>(params.maximum()));
  return check_places(graph, 1);
}

Status check_inpainting(const fbs::Graph& graph, const fbs::Postprocess& p) {
  const Shape input = declared_shape(first(graph, *graph.inputs()));
  const Shape output = declared_shape(first(graph, *graph.outputs()));
  if (input.rank != 4 || output.rank != 4 || input[3] != kImageChannels + 1 || output[3] != kImageChannels ||
      graph.preprocess() == nullptr)
    return error(FERRY_CORRUPT, "postprocess: from %s to %s, expected a mask and an image with a recipe, and an image",
                 in_words(input).c_str(), in_words(output).c_str());
  const fbs::Inpainting* mask = p.params_as_Inpainting();
  if (!std::isfinite(mask->known()) || !std::isfinite(mask->hole()) || mask->known() == mask->hole())
    return error(FERRY_CORRUPT, "postprocess: a mask of %g where the image is known and %g in the hole",
                 static_cast<double>(mask->known()), static_cast<double>(mask->hole()));
  return check_scaling("postprocess", p.mean(), p.std(), output[3], kMaxImageChannels);
}

// Checks output `index`: [1, N, columns] of Float32; columns 0: any.
Status check_rows(const fbs::Graph& graph, uint32_t index, int32_t rows, int32_t columns) {
  const fbs::Tensor& tensor = *graph.tensors()->Get(index_of(graph.outputs()->Get(index)->tensor()));
  const Shape shape = declared_shape(tensor);
  if (tensor.dtype() == fbs::DType::Float32 && shape.rank == 3 && shape[0] == 1 && shape[1] == rows &&
      (columns == 0 || shape[2] == columns))
    return {};
  return error(FERRY_CORRUPT, "postprocess: output %u of a detector is %s %s, expected Float32 [1,%d,%d] (0: any)",
               index, EnumNameDType(tensor.dtype()), in_words(shape).c_str(), rows, columns);
}

Status check_share(const char* what, float value) {
  if (value >= 0 && value <= 1) return {};
  return error(FERRY_CORRUPT, "postprocess: %s is %g, expected 0 to 1", what, static_cast<double>(value));
}

// The number of a detector's landmarks, whose output is checked.
int32_t landmarks_of(const fbs::Graph& graph) {
  if (count(graph.outputs()) < 3) return 0;
  return declared_shape(*graph.tensors()->Get(index_of(graph.outputs()->Get(2)->tensor())))[2] / 2;
}

Status check_detection(const fbs::Graph& graph, const fbs::Detection& params) {
  const uint32_t outputs = count(graph.outputs());
  const bool image = graph.preprocess() != nullptr && graph.preprocess()->patch() == 0;
  if (outputs < 2 || outputs > 4 || !image)
    return error(
        FERRY_CORRUPT,
        "postprocess: a detector with %u outputs%s, expected boxes, scores, perhaps landmarks and theirs, and a recipe",
        outputs, image ? "" : " and no recipe for images");
  const Shape boxes = declared_shape(first(graph, *graph.outputs()));
  const int32_t rows = boxes.rank == 3 ? boxes[1] : 0;
  FERRY_TRY(check_rows(graph, 0, rows, 4));
  FERRY_TRY(check_rows(graph, 1, rows, 0));
  if (outputs > 2) FERRY_TRY(check_rows(graph, 2, rows, 0));
  if (outputs > 3) FERRY_TRY(check_rows(graph, 3, rows, std::max(landmarks_of(graph), 1)));
  FERRY_TRY(check_share("the threshold", params.threshold()));
  FERRY_TRY(check_share("the overlap", params.overlap()));
  return check_range("postprocess: maximum", params.maximum(), 1, 4096);
}

// Names and lines of `points` landmarks.
Status check_points(const fbs::Detection& params, int32_t number) {
  const uint32_t names = count(params.points()), lines = count(params.lines()), points = static_cast<uint32_t>(number);
  if (names != 0 && names != points)
    return error(FERRY_CORRUPT, "postprocess: %u names of %u landmarks", names, points);
  if (lines % 2 != 0) return error(FERRY_CORRUPT, "postprocess: %u ends of lines, expected two of each", lines);
  for (uint32_t i = 0; i < lines; ++i)
    if (params.lines()->Get(i) >= points)
      return error(FERRY_CORRUPT, "postprocess: a line to landmark %u of %u", params.lines()->Get(i), points);
  return {};
}

Status check_boxes(const fbs::Graph& graph, const fbs::Detection& params) {
  FERRY_TRY(check_detection(graph, params));
  return check_points(params, landmarks_of(graph));
}

Status check_landmarks(const fbs::Graph& graph, const fbs::Landmarks& params) {
  if (params.detection() == nullptr) return error(FERRY_CORRUPT, "postprocess: landmarks of no detection");
  FERRY_TRY(check_detection(graph, *params.detection()));
  FERRY_TRY(check_share("the threshold of landmarks", params.threshold()));
  const int32_t last = std::max(params.start(), params.end());
  if (params.start() != params.end() && last >= landmarks_of(graph))
    return error(FERRY_CORRUPT, "postprocess: crops turned by landmark %d of %d", last, landmarks_of(graph));
  constexpr float kMaxScale = 64;
  const bool good = params.scale() > 0 && params.scale() <= kMaxScale && std::fabs(params.shift_x()) <= kMaxScale &&
                    std::fabs(params.shift_y()) <= kMaxScale && std::fabs(params.angle()) <= 360;
  if (good) return {};
  return error(FERRY_CORRUPT, "postprocess: crops of scale %g, shifted by %g and %g, turned by %g",
               static_cast<double>(params.scale()), static_cast<double>(params.shift_x()),
               static_cast<double>(params.shift_y()), static_cast<double>(params.angle()));
}

Status check_ocr(const fbs::Graph& graph, const fbs::Ocr& params) {
  FERRY_TRY(check_share("the threshold", params.threshold()));
  FERRY_TRY(check_share("the box threshold", params.box_threshold()));
  FERRY_TRY(check_share("the text threshold", params.text_threshold()));
  constexpr float kMaxUnclip = 16;
  if (!(params.unclip() >= 0 && params.unclip() <= kMaxUnclip))
    return error(FERRY_CORRUPT, "postprocess: unclip is %g, expected 0 to %g", static_cast<double>(params.unclip()),
                 static_cast<double>(kMaxUnclip));
  return check_places(graph, 1);
}

Status check_images(const fbs::Graph& graph, const fbs::Postprocess& p) {
  const Shape input = declared_shape(first(graph, *graph.inputs()));
  const Shape output = declared_shape(first(graph, *graph.outputs()));
  if (input.rank != 4 || output.rank != 4)
    return error(FERRY_CORRUPT, "postprocess: from %s to %s, expected two images of 4 dimensions",
                 in_words(input).c_str(), in_words(output).c_str());
  return check_scaling("postprocess", p.mean(), p.std(), output[3], kMaxImageChannels);
}

Status check_postprocess(const fbs::Graph& graph) {
  const fbs::Postprocess* p = graph.postprocess();
  if (!p) return {};
  if (p->task() > fbs::Task::MAX)
    return error(FERRY_UNSUPPORTED, "postprocess: task %u is unknown to this version",
                 static_cast<unsigned>(p->task()));
  FERRY_TRY(check_range("postprocess: upscale", p->upscale(), 1, 16));
  FERRY_TRY(check_range("postprocess: halo", p->halo(), 0, 4096));
  FERRY_TRY(check_range("postprocess: top", p->top(), 1, 1 << 20));
  const bool any_size = p->task() == fbs::Task::ImageToImage;
  FERRY_TRY(check_range("postprocess: multiple_of", p->multiple_of(), 1, any_size ? 64 : 1));
  // Tasks with parameters have a table of their own; the others have none.
  constexpr struct {
    fbs::Task task;
    fbs::TaskParams params;
  } kParams[] = {{fbs::Task::Depth, fbs::TaskParams::Depth},
                 {fbs::Task::Inpainting, fbs::TaskParams::Inpainting},
                 {fbs::Task::PromptedSegmentation, fbs::TaskParams::PromptedSegmentation},
                 {fbs::Task::Detection, fbs::TaskParams::Detection},
                 {fbs::Task::Ocr, fbs::TaskParams::Ocr},
                 {fbs::Task::Landmarks, fbs::TaskParams::Landmarks}};
  fbs::TaskParams expected = fbs::TaskParams::NONE;
  for (const auto& row : kParams)
    if (row.task == p->task()) expected = row.params;
  if (p->params_type() != expected || (p->params() == nullptr) != (expected == fbs::TaskParams::NONE))
    return error(FERRY_CORRUPT, "postprocess: %s with parameters of %s%s, expected %s", EnumNameTask(p->task()),
                 p->params_type() <= fbs::TaskParams::MAX ? EnumNameTaskParams(p->params_type()) : "a later version",
                 p->params() == nullptr ? ", which are absent" : "", EnumNameTaskParams(expected));
  // Checks the inputs and outputs of a task. A library without the task refuses it when the task is opened.
  switch (p->task()) {
#define FERRY_CHECK(kind, check) \
  case fbs::Task::kind: return built_in(fbs::Task::kind) ? check : Status()
    FERRY_CHECK(Text, check_text(graph));
    FERRY_CHECK(ImageToImage, check_images(graph, *p));
    FERRY_CHECK(Inpainting, check_inpainting(graph, *p));
    FERRY_CHECK(Depth, check_depth(graph, *p->params_as_Depth()));
    FERRY_CHECK(Matting, check_places(graph, 1));
    FERRY_CHECK(Detection, check_boxes(graph, *p->params_as_Detection()));
    FERRY_CHECK(Landmarks, check_landmarks(graph, *p->params_as_Landmarks()));
    FERRY_CHECK(Ocr, check_ocr(graph, *p->params_as_Ocr()));
    FERRY_CHECK(SemanticSegmentation, check_places(graph, kMaxClasses));
#undef FERRY_CHECK
    default: return {};
  }
}

// The tensor of the port of that name; null if there is none.
const fbs::Tensor* named(const fbs::Graph& graph, const Ports& ports, const char* name) {
  for (const fbs::Port* port : ports)
    if (std::strcmp(port->name()->c_str(), name) == 0) return graph.tensors()->Get(index_of(port->tensor()));
  return nullptr;
}

// A dimension of 0 in `wanted` is any.
Status check_port(const fbs::Graph& graph, const char* kind, const Ports& ports, const char* name, const Shape& wanted,
                  Shape* found = nullptr) {
  const fbs::Tensor* tensor = named(graph, ports, name);
  if (!tensor)
    return error(FERRY_CORRUPT, "graph '%.64s': no %s '%.64s', which the task needs", text(graph.name()), kind, name);
  const Shape shape = declared_shape(*tensor);
  bool fits = tensor->dtype() == fbs::DType::Float32 && shape.rank == wanted.rank;
  for (int d = 0; fits && d < shape.rank; ++d) fits = wanted[d] == 0 || wanted[d] == shape[d];
  if (!fits)
    return error(FERRY_CORRUPT, "graph '%.64s': %s '%.64s' is %s %s, expected Float32 %s (0: any)", text(graph.name()),
                 kind, name, EnumNameDType(tensor->dtype()), in_words(shape).c_str(), in_words(wanted).c_str());
  if (found) *found = shape;
  return {};
}

Status check_prompted(const fbs::Graph& graph, const fbs::Graph& prompted) {
  const fbs::Port& output = *graph.outputs()->Get(0);
  const Ports &inputs = *prompted.inputs(), &outputs = *prompted.outputs();
  if (count(&inputs) != 5)
    return error(FERRY_CORRUPT, "graph '%.64s': %u inputs, expected an embedding and 4 of prompts",
                 text(prompted.name()), count(&inputs));
  const Shape embedding = declared_shape(first(graph, *graph.outputs()));
  FERRY_TRY(check_port(prompted, "input", inputs, output.name()->c_str(), embedding));
  Shape points, mask, logits;
  FERRY_TRY(check_port(prompted, "input", inputs, "point_coords", {1, 0, 2}, &points));
  FERRY_TRY(check_port(prompted, "input", inputs, "point_labels", {1, points[1]}));
  FERRY_TRY(check_port(prompted, "input", inputs, "mask_input", {1, 0, 0, 1}, &mask));
  FERRY_TRY(check_port(prompted, "input", inputs, "has_mask_input", {1}));
  FERRY_TRY(check_port(prompted, "output", outputs, "mask_logits", {1, mask[1], mask[2], 0}, &logits));
  return check_port(prompted, "output", outputs, "mask_qualities", {1, logits[3]});
}

Status check_line_reader(const fbs::Graph& line) {
  const Shape input = declared_shape(first(line, *line.inputs()));
  const fbs::Preprocess* p = line.preprocess();
  if (count(line.inputs()) != 1 || input.rank != 4 || input[0] != 1 || input[3] != kImageChannels || !p ||
      p->resize_mode() != fbs::ResizeMode::Fit || p->resize_h() != input[1] || p->crop_h() != 0 ||
      p->color() == fbs::ColorOrder::Gray)
    return error(FERRY_CORRUPT,
                 "graph '%.64s': %u inputs, the first %s: expected a line in colour with a recipe that fits it in",
                 text(line.name()), count(line.inputs()), in_words(input).c_str());
  const fbs::Tensor& classes = first(line, *line.outputs());
  const Shape output = declared_shape(classes);
  if (classes.dtype() != fbs::DType::Float32 || output.rank != 3 || output[0] != 1 ||
      static_cast<uint32_t>(output[2]) != count(line.labels()))
    return error(FERRY_CORRUPT, "graph '%.64s': %s %s for %u labels, expected Float32 [1,places,labels]",
                 text(line.name()), EnumNameDType(classes.dtype()), in_words(output).c_str(), count(line.labels()));
  return {};
}

Status check_point_finder(const fbs::Graph& finder, const fbs::Landmarks& params) {
  const fbs::Tensor& image = first(finder, *finder.inputs());
  const Shape input = declared_shape(image);
  const fbs::Preprocess* p = finder.preprocess();
  if (count(finder.inputs()) != 1 || image.dtype() != fbs::DType::Float32 || input.rank != 4 || input[0] != 1 ||
      input[3] != kImageChannels || !p || p->resize_mode() != fbs::ResizeMode::None || p->crop_h() != 0 ||
      p->crop_w() != 0 || p->patch() != 0 || p->color() == fbs::ColorOrder::Gray)
    return error(FERRY_CORRUPT,
                 "graph '%.64s': %u inputs, the first %s: expected a crop in colour with a recipe that keeps its size",
                 text(finder.name()), count(finder.inputs()), in_words(input).c_str());
  const Ports& outputs = *finder.outputs();
  Shape points;
  FERRY_TRY(check_port(finder, "output", outputs, "points", {1, 0, 2}, &points));
  FERRY_TRY(check_port(finder, "output", outputs, "score", {1, 1}));
  if (named(finder, outputs, "point_scores"))
    FERRY_TRY(check_port(finder, "output", outputs, "point_scores", {1, points[1]}));
  if (named(finder, outputs, "classes")) FERRY_TRY(check_port(finder, "output", outputs, "classes", {1, 0}));
  return check_points(*params.detection(), points[1]);
}

}  // namespace

Status verify_second_graph(const fbs::Graph& graph, const fbs::Graph& root) {
  if constexpr (!any_built_in(fbs::Task::Ocr, fbs::Task::PromptedSegmentation, fbs::Task::Landmarks)) return {};
  const fbs::Postprocess* p = graph.postprocess();
  if (!p) return {};
  const char* name = nullptr;
  switch (p->task()) {
    case fbs::Task::Ocr: name = text(p->params_as_Ocr()->graph()); break;
    case fbs::Task::PromptedSegmentation: name = text(p->params_as_PromptedSegmentation()->graph()); break;
    case fbs::Task::Landmarks: name = text(p->params_as_Landmarks()->graph()); break;
    default: return {};
  }
  if (*name == 0)
    return error(FERRY_CORRUPT, "postprocess: %s needs another graph and names none", EnumNameTask(p->task()));
  const fbs::Tensor& image = first(graph, *graph.inputs());
  const Shape input = declared_shape(image);
  if (image.dtype() != fbs::DType::Float32 || input.rank != 4 || input[0] != 1 || graph.preprocess() == nullptr)
    return error(FERRY_CORRUPT, "postprocess: input 0 is %s %s, expected an image with a recipe",
                 EnumNameDType(image.dtype()), in_words(input).c_str());
  for (uint32_t i = 0; i < count(root.graphs()); ++i) {
    const fbs::Graph& second = *root.graphs()->Get(i);
    if (std::strcmp(text(second.name()), name) != 0) continue;
    switch (p->task()) {
      case fbs::Task::Ocr: return check_line_reader(second);
      case fbs::Task::Landmarks: return check_point_finder(second, *p->params_as_Landmarks());
      default: return check_prompted(graph, second);
    }
  }
  return error(FERRY_CORRUPT, "postprocess: %s by graph '%.64s', which is not there", EnumNameTask(p->task()), name);
}

Status verify_recipes(const fbs::Graph& graph) {
  FERRY_TRY(check_preprocess(graph));
  return check_postprocess(graph);
}

}  // namespace ferry
