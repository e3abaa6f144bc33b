#include "converter/tflite/source.h"

#include "converter/checkpoint/sha256.h"
#include "converter/checkpoint/zip.h"
#include "converter/detect/option.h"
#include "converter/file_options.h"
#include "converter/landmarks/landmarks.h"
#include "converter/passes/passes.h"
#include "converter/preprocessing/labels.h"
#include "converter/preprocessing/prepare_images.h"
#include "converter/quantize/compute_on_integers.h"
#include "converter/quantize/keep_integers.h"
#include "converter/tflite/bundle.h"
#include "converter/tflite/constants.h"
#include "converter/tflite/importer.h"
#include "converter/tflite/metadata.h"
#include "converter/tflite/quantised.h"
#include "converter/tflite/weights.h"

namespace ferry::tflite {
namespace {

constexpr const char *kLandmarks = "landmarks", *kNetwork = "network", *kShape = "shape";

bool recognises(const MappedFile& file) { return looks_like_tflite(file.bytes()) || looks_like_bundle(file); }

// The networks of a conversion: one, or a detector and what finds points in its boxes.
struct Files {
  File network;
  std::optional<File> points;
};

Files open_files(const std::filesystem::path& path, const Settings& given) {
  if (const auto archive = MappedFile::open(path); looks_like_bundle(*archive)) {
    if (given.has(kLandmarks)) fail("--%s: %s has its own", kLandmarks, path.filename().c_str());
    if (given.has(kNetwork)) fail("--%s: %s has two, of which both are taken", kNetwork, path.filename().c_str());
    Bundle bundle = open_bundle(archive);
    return {std::move(bundle.detector), std::move(bundle.points)};
  }
  Files files{open_file(path, given.text(kNetwork)), {}};
  if (given.has(kLandmarks)) files.points = open_file(given.text(kLandmarks));
  return files;
}

// The classes: a text file in the archive that may follow the network, which the metadata names, or the only one.
std::vector<std::string> classes_of(const File& file, const Metadata& metadata) {
  ZipEntries entries;
  try {
    entries = zip_entries(*file.mapped);
  } catch (const Error&) {
    return {};  // there is no archive
  }
  std::erase_if(entries, [](const auto& entry) { return !entry.second.stored; });
  const auto lines = [](const ZipEntry& entry) {
    return lines_of({reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()});
  };
  for (const std::string& name : metadata.label_files)
    if (const auto entry = entries.find(name); entry != entries.end()) return lines(entry->second);
  std::erase_if(entries, [](const auto& entry) { return !entry.first.ends_with(".txt"); });
  return entries.size() == 1 ? lines(entries.begin()->second) : std::vector<std::string>();
}

// How an image becomes the input: by the metadata, or by the scale of a quantised input.
void set_own_images(const File& file, const Metadata& metadata, ImageRequest* images) {
  images->own = metadata.image;
  images->own_note = "images are prepared as the file's metadata says: --mean and --std say otherwise";
  if (images->own.given()) return;
  images->own = levels_as_integers(file);
  images->own_note = "the levels of an image are the integers of input 0: --mean and --std say otherwise";
}

std::string producer_of(const File& file) {
  const flatbuffers::String* text = file.model->description();
  return text != nullptr ? text->str() : "";
}

std::unique_ptr<fbs::ProvenanceT> provenance_of(const File& file, bool digest) {
  auto provenance = std::make_unique<fbs::ProvenanceT>();
  provenance->family = "tflite";
  provenance->variant = file.mapped->path().stem().string();
  provenance->source = file.name();
  // A placeholder of the same length, so that a dry run knows the blob's size.
  provenance->source_sha256 = digest ? sha256_hex(file.mapped->bytes()) : std::string(64, '0');
  provenance->framework = "tflite";
  return provenance;
}

std::span<const Option> options() {
  static const std::vector<Option> kOptions = [] {
    std::vector<Option> all = {
        {.name = kNetwork,
         .argument = "NAME",
         .help = "The network of a file that has several: the key of its signature, or its subgraph's name. Default: "
                 "the first"},
        shape_option(),
        tap_option(),
        detect::detect_option(),
        {.name = kLandmarks,
         .argument = "TFLITE",
         .help = "Network that finds points, if the file is MediaPipe's detector of palms, faces "
                 "or persons. The blob contains both and finds hands, faces or bodies",
         .records = Option::Records::FileName,
         .rebuilds = false}};
    all.insert(all.end(), preparation_options().begin(), preparation_options().end());
    return all;
  }();
  return kOptions;
}

// The detector that TFLite_Detection_PostProcess is, with what precedes it as the graph's outputs.
detect::DetectorSpec detector_of(Graph& graph, const DetectionHead& head, const ImageRequest& images) {
  constexpr float kLeastThreshold = 0.1f, kUsualThreshold = 0.5f;  // files keep nearly all boxes, for evaluations
  detect::DetectorSpec spec;
  spec.name = "TFLite_Detection_PostProcess";
  spec.boxes.outputs = {0};
  spec.boxes.form = detect::Form::Offsets;
  spec.boxes.variances = {1 / head.centre_scale, 1 / head.size_scale};
  spec.boxes.y_first = true;
  spec.scores.outputs = {1};
  spec.scores.activation = detect::Activation::None;
  if (graph.shape(head.scores.id)[2] > head.classes) spec.scores.background = 0;
  for (const auto& [y, x, height, width] : head.anchors) spec.anchors.boxes.push_back({x, y, width, height});
  spec.recognised = true;  // so that labels of another number are left out
  spec.labels = images.classes;
  spec.image = images.own;
  if (!images.own.given()) spec.image.mean = spec.image.std = {127.5};
  spec.params.threshold = head.threshold < kLeastThreshold ? kUsualThreshold : head.threshold;
  spec.params.overlap = std::min(head.overlap, 1.0f);
  spec.params.across_classes = spec.best_class = !head.by_class;
  spec.params.maximum = head.maximum;
  graph.table.outputs.clear();
  graph.add_output("boxes", head.boxes, fbs::Layout::Same);
  graph.add_output("scores", head.scores, fbs::Layout::Same);
  return spec;
}

// Whether a layer has integers with scales as weights, and floats as activations, which the interpreter rounds.
bool rounds_activations(const File& file) {
  using Builtin = schema::BuiltinOperator;
  const auto* operators = file.graph->operators();
  return operators != nullptr && std::any_of(operators->begin(), operators->end(), [&](const schema::Operator* op) {
           const Builtin type = file.builtin(*op);
           if (type != Builtin::CONV_2D && type != Builtin::DEPTHWISE_CONV_2D && type != Builtin::FULLY_CONNECTED)
             return false;
           return is_float(file.tensor(op->inputs()->Get(0)).type()) && is_quantised(file.tensor(op->inputs()->Get(1)));
         });
}

void run_all_passes(Graph& graph, const File& file, const ImportRequest& request, std::vector<std::string>* notes) {
  if (!request.passes) return;
  const PassOptions options{.keep_taps = tap_request(request.settings).any()};
  make_channels_last(graph, options);
  run_passes(graph, options);
  int8::finish_integers(graph, options, notes);
  if (rounds_activations(file)) int8::keep_integer_weights(graph);
}

ImportedNetwork import(const ImportRequest& request) {
  if (request.settings.has("max-length"))
    fail("--max-length: is for language models, and %s is none", request.path.filename().c_str());
  const Files files = open_files(request.path, request.settings);
  const File& file = files.network;
  const TapRequest taps = tap_request(request.settings);
  Imported imported = import_file(file, {.taps = taps, .shapes = parse_shapes(request.settings.values(kShape))});
  Graph& graph = *imported.graph;
  ImportedNetwork made;
  made.notes = std::move(imported.notes);
  ImageRequest images = image_request(request.settings, request.path);
  const Metadata metadata = read_metadata(file);
  images.classes = classes_of(file, metadata);
  set_own_images(file, metadata, &images);
  if (const auto wanted = detect::detector_request(request.settings)) {
    // Detectors of one image; a video's have more inputs, and stay as they are.
    const bool one_image = graph.table.inputs.size() == 1 && graph.shape(graph.table.inputs[0]->tensor).rank == 4;
    if (imported.detection_head && wanted->detector.empty() && one_image)
      made.detector = detect::make_detector(graph, detector_of(graph, *imported.detection_head, images), *wanted);
    else
      made.detector = detect::make_detector(graph, *wanted);
  }
  if (made.detector)
    detect::refuse_other_tasks(request.settings);
  else
    prepare_images(graph, request.families, images, &made.notes);
  run_all_passes(graph, file, request, &made.notes);
  if (files.points) {
    if (!made.detector)
      fail("%s: the boxes of the first network must be known: name its detector by --detect", file.name().c_str());
    Imported points = import_file(*files.points, {.taps = taps});
    fbs::LandmarksT params = landmarks::make_point_finder(*points.graph, made.detector->name, files.points->name());
    run_all_passes(*points.graph, *files.points, request, &made.notes);
    landmarks::join(graph, std::move(*points.graph), std::move(params));
  }
  graph.table.name = request.path.stem().string();
  graph.table.provenance = provenance_of(file, request.digest);
  made.graphs.push_back(std::move(imported.graph));
  return made;
}

Outline outline(const std::filesystem::path& path, const Settings& settings) {
  const File file = open_files(path, settings).network;
  Outline out;
  out.producer = producer_of(file);
  for (unsigned i = 0; i < count(file.graph->operators()); ++i)
    ++out.operators[file.operator_name(*file.graph->operators()->Get(i))];
  for (unsigned i = 0; i < count(file.graph->tensors()); ++i) {
    const schema::Tensor& tensor = file.tensor(static_cast<int>(i));
    const bool has_values = !file.bytes(static_cast<int>(i)).empty() && tensor.sparsity() == nullptr;
    if (has_values && (is_float(tensor.type()) || is_quantised(tensor)))
      out.parameters += static_cast<uint64_t>(shape_of(tensor).elements());
  }
  try {
    out.graph = std::move(import_file(file, {.shapes = parse_shapes(settings.values(kShape))}).graph);
  } catch (const Refused& refused) {
    out.refused = refused.reasons();
  }
  return out;
}

}  // namespace

Source tflite_source() {
  return {.name = "a TensorFlow Lite file",
          .plural = "TensorFlow Lite files",
          .formats = "TensorFlow Lite",
          .family = "tflite",
          .recognises = recognises,
          .folders = false,
          .options = options,
          .import = import,
          .outline = outline,
          .weights = [](Families, const std::filesystem::path& path, const Settings& settings) {
            return open_constants(path, settings.text(kNetwork));
          }};
}

}  // namespace ferry::tflite
