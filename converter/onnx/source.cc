#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/onnx/source.h"

#include <algorithm>

#include "converter/checkpoint/mapped_file.h"
#include "converter/detect/option.h"
#include "converter/file_options.h"
#include "converter/onnx/convert_onnx.h"
#include "converter/passes/last_token.h"
#include "converter/preprocessing/prepare_images.h"
#include "converter/text/text_files.h"
#if defined(FERRY_HAS_ONNX)
#include "converter/onnx/decoder.h"
#include "converter/onnx/importer.h"
#include "converter/onnx/initializers.h"
#endif

namespace ferry::onnx {
namespace {

constexpr const char *kShape = "shape", *kDynamic = "dynamic", *kWithout = "no-recognise", *kDetect = "detect",
                     *kRead = "read", *kCharacters = "characters", *kLabels = "labels", *kMaxLength = "max-length",
                     *kTap = "tap", *kKeepTaps = "keep-taps", *kValue = "value";

void valid_values(const Option& option, const Settings& given, Families) { parse_values(given.values(option.name)); }

std::span<const Option> options() {
  static const std::vector<Option> kOptions = [] {
    std::vector<Option> all = {
        shape_option(),
        {.name = kValue,
         .argument = "NAME=NUMBERS",
         .help = "Value of an input that is the same in every run, and that the blob then lacks: sr=16000, or a list "
                 "sizes=3,4. May be repeated",
         .takes = Option::Takes::Values,
         .check = valid_values},
        {.name = kDynamic,
         .argument = "NAME",
         .help = "An input dimension that stays open in the blob: its name in the file (batch), or input and index "
                 "(input:0). May be repeated",
         .takes = Option::Takes::Values},
        tap_option(),
        {.name = kWithout,
         .argument = "NAME",
         .help = "Do not fuse operators by this pattern (gelu, attention... or all), to compare. May be repeated",
         .takes = Option::Takes::Values},
        detect::detect_option(),
        {.name = kRead,
         .argument = "ONNX",
         .help = "Text recognition network, if the file is a text detector. The blob contains both and runs OCR",
         .records = Option::Records::FileName,
         .rebuilds = false},
        {.name = kCharacters,
         .argument = "FILE",
         .help = "Text file with the characters of the --read network, one per line",
         .records = Option::Records::FileName,
         .rebuilds = false},
    };
    all.insert(all.end(), preparation_options().begin(), preparation_options().end());
    return all;
  }();
  return kOptions;
}

bool recognises(const MappedFile& file) { return looks_like_onnx(file.bytes()); }

// Nothing if the network is not to be a detector.
std::optional<detect::DetectorRequest> detector_request(const Settings& given) {
  const std::string detector = given.text(kDetect);
  if (!given.has(kDynamic) || detector == "none") return detect::detector_request(given);
  if (!given.has(kDetect)) return {};
  fail("--detect %s with --dynamic: a detector's boxes are made for one size of image", detector.c_str());
}

std::unique_ptr<Graph> import_ocr(const ImportRequest& request) {
  const Settings& given = request.settings;
  const std::string line = given.text(kRead);
  if (line.empty() || !given.has(kCharacters))
    fail("--read and --characters: expected both, the text recognition network and its characters");
  if (const auto file = MappedFile::open(line); !recognises(*file))
    fail("--read: %s is not an ONNX file", line.c_str());
  if (given.has(kKeepTaps)) fail("--keep-taps: not with --read; convert each of the networks by itself");
  if (given.has(kLabels)) fail("--labels: not with --read, whose classes are the --characters");
  for (const Setting& setting : given.all())
    if (setting.name != kWithout && setting.name != kRead && setting.name != kCharacters)
      if (find_option(options(), setting.name) != nullptr)
        fail("--%s: not with --read, whose networks have their own sizes and preprocessing", setting.name.c_str());
  return build_ocr({.finder = request.path,
                    .line = line,
                    .characters = given.text(kCharacters),
                    .without = given.values(kWithout),
                    .passes = request.passes});
}

// The folder of the tokenizer and the configuration: the file's, or the one above, as the onnx/ folders of published
// models have it.
std::filesystem::path folder_of_text(const std::filesystem::path& file) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  for (const std::filesystem::path& place : {folder, folder.parent_path()})
    for (const char* name : {"tokenizer.json", "tokenizer.model", "tokenizer.bin", "generation_config.json"})
      if (std::filesystem::exists(place / name)) return place;
  return folder;
}

// A language model with a cache: the graphs for runs of any length. Nothing if the file is of another kind, or if
// options say how its inputs are bound.
std::vector<std::unique_ptr<Graph>> import_decoder(const ImportRequest& request, std::vector<std::string>* notes) {
  const Settings& given = request.settings;
  std::vector<std::unique_ptr<Graph>> graphs;
  if (given.has(kShape) || given.has(kDynamic) || given.has(kValue)) return graphs;
  const std::optional<int> length = given.integer(kMaxLength, 1, 1 << 24);
  std::unique_ptr<Graph> graph = build_language_model({.file = request.path,
                                                       .max_length = length,
                                                       .without = given.values(kWithout),
                                                       .taps = tap_request(given),
                                                       .passes = request.passes});
  if (!graph) return graphs;
  for (const Setting& setting : given.all())
    if (setting.name == kLabels ||
        (setting.name != kWithout && setting.name != kTap && find_option(options(), setting.name) != nullptr))
      fail("--%s: not for a language model", setting.name.c_str());
  const Shape logits = graph->shape(graph->table.outputs.front()->tensor);
  const std::filesystem::path folder = folder_of_text(request.path);
  fbs::TextT text = text_of_model(folder, Companions(folder).read_json("config.json"), logits[logits.rank - 1], notes);
  text.graph = kLastToken;
  graph->table.postprocess = std::make_unique<fbs::PostprocessT>();
  graph->table.postprocess->task = fbs::Task::Text;
  graphs.push_back(std::move(graph));
  graphs.push_back(graphs.front()->copy());
  graphs.back()->table.name = kLastToken;
  graphs.back()->table.provenance = nullptr;
  graphs.front()->table.text = packed(text);
  keep_last_token(graphs.back().get());
  return graphs;
}

ImportedNetwork import(const ImportRequest& request) {
  const Settings& given = request.settings;
  ImportedNetwork made;
  if (given.has(kRead) || given.has(kCharacters)) {
    made.graphs.push_back(import_ocr(request));
    return made;
  }
  made.graphs = import_decoder(request, &made.notes);
  if (!made.graphs.empty()) return made;
  if (given.has(kMaxLength)) fail("--max-length: the file is no language model with a cache");
  const std::optional<detect::DetectorRequest> wanted = detector_request(given);
  const auto finish = [&](Graph& graph) {
    made.notes.clear();  // a graph with open dimensions is imported more than once
    if (wanted) made.detector = detect::make_detector(graph, *wanted);
    if (made.detector) return detect::refuse_other_tasks(given);
    prepare_images(graph, request.families, image_request(given, request.path), &made.notes);
  };
  made.graphs.push_back(build_graph({.file = request.path,
                                     .shapes = given.values(kShape),
                                     .values = given.values(kValue),
                                     .dynamic = given.values(kDynamic),
                                     .without = given.values(kWithout),
                                     .taps = tap_request(given),
                                     .passes = request.passes,
                                     .finish = finish,
                                     .notes = &made.notes}));
  return made;
}

Outline outline(const std::filesystem::path& path, const Settings& settings) {
#if defined(FERRY_HAS_ONNX)
  const Model model = read_model(path);
  Outline out;
  out.producer = model.producer;
  out.opset = model.opset;
  for (const Node& node : model.nodes) ++out.operators[node.op];
  for (const auto& [name, array] : model.constants)
    if (is_float(array.type)) out.parameters += static_cast<uint64_t>(array.elements());
  try {
    if (!settings.has(kShape)) out.graph = build_decoder(model, {.file = path});
    if (!out.graph) out.graph = std::move(import_model(model, {.shapes = parse_shapes(settings.values(kShape))}).graph);
  } catch (const Refused& refused) {
    out.refused = refused.reasons();
  }
  return out;
#else
  static_cast<void>(settings);
  build_graph({.file = path});  // throws the Error of a build without ONNX
  return {};
#endif
}

std::shared_ptr<const Checkpoint> weights(Families, const std::filesystem::path& path, const Settings&) {
#if defined(FERRY_HAS_ONNX)
  return open_initializers(path);
#else
  build_graph({.file = path});  // throws the Error of a build without ONNX
  return nullptr;
#endif
}

}  // namespace

Source onnx_source() {
  return {.name = "an ONNX file",
          .plural = "ONNX files",
          .formats = "ONNX",
          .family = "onnx",
          .recognises = recognises,
          .folders = false,
          .options = options,
          .import = import,
          .outline = outline,
          .weights = weights};
}

}  // namespace ferry::onnx
