#include "converter/onnx/source.h"

#include <algorithm>

#include "converter/checkpoint/mapped_file.h"
#include "converter/detect/recipe.h"
#include "converter/onnx/convert_onnx.h"
#include "converter/preprocessing/prepare_images.h"
#include "converter/suggest.h"
#if defined(FERRY_HAS_ONNX)
#include "converter/onnx/importer.h"
#endif

namespace ferry::onnx {
namespace {

constexpr const char *kShape = "shape", *kDynamic = "dynamic", *kWithout = "no-recognise", *kDetect = "detect",
                     *kLike = "like", *kRead = "read", *kCharacters = "characters", *kLabels = "labels";

std::string detector_names() {
  std::string all;
  for (const std::string& name : detect::known_names()) all += (all.empty() ? "" : ", ") + name;
  return all;
}

void sizes_by_name(const Option& option, const Settings& given, Families) { parse_shapes(given.values(option.name)); }

// A name of the table, none, or a file.
void known_detector(const Option& option, const Settings& given, Families) {
  const std::string detector = given.text(option.name);
  std::vector<std::string> names = detect::known_names();
  names.emplace_back("none");
  if (detector.ends_with(".json") || std::find(names.begin(), names.end(), detector) != names.end()) return;
  fail("--%s %s: is none of %s, none, and no file.json%s", option.name.c_str(), detector.c_str(),
       detector_names().c_str(), did_you_mean(detector, names).c_str());
}

std::span<const Option> options() {
  static const std::vector<Option> kOptions = [] {
    std::vector<Option> all = {
        {.name = kShape,
         .argument = "NAME=SIZES",
         .help = "Size of an input, where the file leaves it open: input=1x3x224x224; once an input",
         .takes = Option::Takes::Values,
         .check = sizes_by_name},
        {.name = kDynamic,
         .argument = "NAME",
         .help = "A dimension of the inputs that the blob leaves open, by the file's name for it (batch) or by input "
                 "and place (input:0); once a dimension",
         .takes = Option::Takes::Values},
        {.name = kWithout,
         .argument = "NAME",
         .help = "Leave operators unchanged where this recogniser would put one for many (gelu, attention... or all), "
                 "to compare; once a name",
         .takes = Option::Takes::Values},
        {.name = kDetect,
         .argument = "RECIPE",
         .help = "How outputs become boxes: " + detector_names() +
                 "; FILE.json, as docs/tasks.md describes; or none. Without it: as a network is recognised by its "
                 "outputs",
         .check = known_detector,
         .records = Option::Records::FileName},
        {.name = kLike,
         .argument = "VARIANT",
         .help = "Prepare images as this variant of `ferry models` does, and name the classes as it does where they "
                 "are as many; without it: as a preprocessor_config.json beside the file says",
         .check = known_variant},
        {.name = kRead,
         .argument = "ONNX",
         .help = "With a file that finds lines of text: the one that reads a line. One blob of both reads text",
         .records = Option::Records::FileName,
         .rebuilds = false},
        {.name = kCharacters,
         .argument = "FILE",
         .help = "Text file with the characters that --read knows, one a line",
         .records = Option::Records::FileName,
         .rebuilds = false},
    };
    all.insert(all.end(), image_options().begin(), image_options().end());
    return all;
  }();
  return kOptions;
}

bool recognises(const MappedFile& file) { return looks_like_onnx(file.bytes()); }

// Absent: nothing makes a detector of the network.
std::optional<detect::Request> detection(const Settings& given) {
  const std::vector<std::string> recipes = given.values(kDetect);
  if (!recipes.empty() && recipes.back() == "none") return {};
  if (given.has(kDynamic)) {
    if (recipes.empty()) return {};
    fail("--detect %s with --dynamic: a detector's boxes are made for one size of image", recipes.back().c_str());
  }
  return detect::Request{
      .recipe = recipes.empty() ? "" : recipes.back(), .image = image_settings(given), .labels = given.text(kLabels)};
}

std::unique_ptr<Graph> import_reader(const ImportRequest& request) {
  const Settings& given = request.settings;
  const std::string line = given.text(kRead);
  if (line.empty() || !given.has(kCharacters))
    fail("--read and --characters: a network that reads lines, and the characters that it knows, come together");
  if (const auto file = MappedFile::open(line); !recognises(*file))
    fail("--read: joins two ONNX files: %s is none", line.c_str());
  if (given.has(kLabels)) fail("--labels: the classes of --read are named by --characters");
  for (const Setting& setting : given.all())
    if (setting.name != kWithout && setting.name != kRead && setting.name != kCharacters)
      if (find_option(options(), setting.name) != nullptr)
        fail("--%s: not with --read, whose networks see images and lines of any size in their own way",
             setting.name.c_str());
  return build_reader({.finder = request.path,
                       .line = line,
                       .characters = given.text(kCharacters),
                       .without = given.values(kWithout),
                       .passes = request.passes});
}

ImportedNetwork import(const ImportRequest& request) {
  const Settings& given = request.settings;
  ImportedNetwork made;
  if (given.has(kRead) || given.has(kCharacters)) {
    made.graphs.push_back(import_reader(request));
    return made;
  }
  const std::optional<detect::Request> wanted = detection(given);
  const auto finish = [&](Graph& graph) {
    if (wanted) made.detector = detect::make_detector(graph, *wanted);
    const std::string like = given.text(kLike);
    if (made.detector && !like.empty()) fail("--like %s: a detector's recipe says it: --detect", like.c_str());
    if (made.detector) return;
    made.notes.clear();  // a graph with open dimensions is imported more than once
    prepare_images(
        graph, request.families,
        {.settings = image_settings(given), .like = like, .labels = given.text(kLabels), .file = request.path},
        &made.notes);
  };
  made.graphs.push_back(build_graph({.file = request.path,
                                     .shapes = given.values(kShape),
                                     .dynamic = given.values(kDynamic),
                                     .without = given.values(kWithout),
                                     .passes = request.passes,
                                     .finish = finish}));
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
    out.graph = std::move(import_model(model, {.shapes = parse_shapes(settings.values(kShape))}).graph);
  } catch (const Refused& refused) {
    out.refused = refused.reasons();
  }
  return out;
#else
  static_cast<void>(settings);
  build_graph({.file = path});  // says what is missing
  return {};
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
          .outline = outline};
}

}  // namespace ferry::onnx
