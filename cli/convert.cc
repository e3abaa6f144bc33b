// ferry convert
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>

#include "cli/command.h"
#include "cli/onnx.h"
#include "cli/parity/certify.h"
#include "cli/progress.h"
#include "cli/summary.h"
#include "cli/text.h"
#if defined(FERRY_HAS_CONVERTER)
#include "converter/detect/recipe.h"
#include "converter/hub/hub.h"
#include "models/families.h"
#endif

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;

struct ConvertArguments {
  std::string checkpoint, revision, state_dict, model, output, input_size, certify, labels, detect, like, read,
      characters;
  std::map<std::string, std::string> image;  // by the names of converter/preprocessing/image_settings.h
  std::string weights = "f32", report = "text";
  std::vector<std::string> shapes, dynamic, without;
  std::vector<int> features;
  int num_classes = 0, in_chans = 3, max_length = 0;
  bool has_classes = false, has_chans = false, has_max_length = false, keep_taps = false, unit_length = false,
       exportable = false, dry_run = false;
};

#if defined(FERRY_HAS_CONVERTER)

// The converter would find out too, but only after the whole checkpoint was read, and without a suggestion.
void require_known(const char* option, const std::string& model) {
  std::vector<std::string> names;
  for (const Family* family : families()) {
    for (const Variant* v : family->variants()) {
      for (const std::string& name : {v->architecture, v->name()}) {
        names.push_back(name);
        names.push_back(v->framework + "/" + name);
      }
      if (!v->hub.empty()) names.push_back(v->hub);
    }
  }
  if (std::find(names.begin(), names.end(), model) != names.end()) return;
  fail("%s %s: no model is called so%s; `ferry models` lists them", option, model.c_str(),
       did_you_mean(model, names).c_str());
}

// A name of the table, none, or a file.
void require_detector(const std::string& detector) {
  std::vector<std::string> names = detect::known_names();
  names.emplace_back("none");
  if (detector.ends_with(".json") || std::find(names.begin(), names.end(), detector) != names.end()) return;
  const std::string meant = did_you_mean(detector, names);
  fail("--detect %s: is none of %s, and no file.json%s", detector.c_str(), join(names, ", ").c_str(), meant.c_str());
}

// A checkpoint of the hub comes to the cache; one that lies here stays where it is.
void locate(const ConvertArguments& o, ConvertOptions* options) {
  options->checkpoint = o.checkpoint;
  if (!is_hub_reference(o.checkpoint)) {
    if (!o.revision.empty()) fail("--revision %s: is for hf:ORG/NAME only", o.revision.c_str());
    if (!fs::exists(options->checkpoint)) fail("%s does not exist", o.checkpoint.c_str());
    return;
  }
#if defined(FERRY_HAS_HUB)
  ProgressLine line("downloading");
  const HubFile file = fetch_from_hub(parse_hub_reference(o.checkpoint, o.revision), HubSettings::from_environment(),
                                      [&line](const std::string& name, uint64_t done, uint64_t total) {
                                        line.update(name, static_cast<double>(done) / static_cast<double>(total));
                                      });
  options->checkpoint = file.path;
  options->source = file.source;
#else
  fail("%s: this build cannot download (FERRY_HUB is off): download its files and name their folder",
       o.checkpoint.c_str());
#endif
}

// MODEL.ferry; without --model the repository's or the checkpoint's name, or its folder's where the name says nothing.
fs::path default_output(const ConvertArguments& o) {
  if (!o.model.empty()) return fs::path(o.model).filename().string() + ".ferry";
  if (is_hub_reference(o.checkpoint)) {
    const std::string repository = parse_hub_reference(o.checkpoint, o.revision).repository;
    return fs::path(repository).filename().string() + ".ferry";
  }
  fs::path path = fs::absolute(o.checkpoint).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::string stem = fs::is_directory(path) ? path.filename().string() : path.stem().string();
  if (stem.ends_with(".safetensors")) stem = fs::path(stem).stem().string();
  if (!fs::is_directory(path) && (stem == "model" || stem == "pytorch_model"))
    stem = path.parent_path().filename().string();
  return stem + ".ferry";
}

Settings settings_of(const ConvertArguments& o) {
  Settings out;
  if (o.has_classes) out.set("num-classes", o.num_classes);
  if (o.has_chans) out.set("in-chans", o.in_chans);
  if (!o.input_size.empty()) out.set("input-size", o.input_size);
  if (o.unit_length) out.set("unit-length");
  if (o.has_max_length) out.set("max-length", o.max_length);
  for (const int index : o.features) out.add("features", index);
  for (const std::string& shape : o.shapes) out.add("shape", shape);
  for (const std::string& open : o.dynamic) out.add("dynamic", open);
  for (const std::string& recogniser : o.without) out.add("no-recognise", recogniser);
  if (!o.detect.empty()) out.set("detect", o.detect);
  if (!o.like.empty()) out.set("like", o.like);
  for (const auto& [name, value] : o.image)
    if (!value.empty()) out.set(name, value);
  // Families ask, too, but only once the whole checkpoint was read.
  out.integer("num-classes", 0);
  out.integer("in-chans", 1, 64);
  out.size("input-size");
  return out;
}

// The ports of a graph that is in no blob.
void print_ports(const char* title, const Graph& graph, const std::vector<std::unique_ptr<fbs::PortT>>& ports) {
  for (size_t i = 0; i < ports.size(); ++i) {
    const Shape shape = graph.shape(ports[i]->tensor);
    std::vector<int64_t> sides;
    for (int d = 0; d < shape.rank; ++d) sides.push_back(shape[d]);
    std::printf("%-12s  %s %s %s", i == 0 ? title : "", ports[i]->name.c_str(),
                graph.dtype(ports[i]->tensor) == fbs::DType::Int32 ? "int32" : "float32", shape_text(sides).c_str());
    if (ports[i]->source_layout == fbs::Layout::NCHW && shape.rank >= 3) {
      std::rotate(sides.begin() + 1, sides.end() - 1, sides.end());
      std::printf(", in its framework %s", shape_text(sides).c_str());
    }
    std::printf("\n");
  }
}

// Elements of its constants but scales, as summarize() counts them.
uint64_t parameters_of(const Graph& graph) {
  std::vector<bool> scale(graph.table.tensors.size());
  for (const auto& tensor : graph.table.tensors)
    if (tensor->quantization) scale[index_of(tensor->quantization->scale)] = true;
  uint64_t count = 0;
  for (const TensorId t : graph.tensors())
    if (graph.is_constant(t) && !scale[index_of(t)]) count += static_cast<uint64_t>(graph.shape(t).elements());
  return count;
}

void print_notes(const Conversion& done) {
  for (const std::string& note : done.notes) std::printf("%s\n", note.c_str());
  if (const auto& found = done.detector)
    std::printf("detection by the recipe %s%s: %d boxes, %d class%s\n", found->recipe.c_str(),
                found->recognised ? ", recognised by the outputs (--detect none leaves them as they are)" : "",
                found->boxes, found->classes, found->classes == 1 ? "" : "es");
}

void print_network(const Conversion& done, uint64_t parameters, double seconds) {
  std::printf("%s (%s, %s), %s, %s parameters, %zu operators, %zu taps, in %.1f s\n", done.variant.c_str(),
              done.family.c_str(), done.framework.c_str(), bytes_text(done.bytes).c_str(), grouped(parameters).c_str(),
              done.operators, done.taps, seconds);
}

void print_dry_run(const Conversion& done, const fs::path& output, double seconds) {
  std::printf("%s, not written: ", output.c_str());
  print_network(done, parameters_of(*done.graph), seconds);
  print_ports("input", *done.graph, done.graph->table.inputs);
  print_ports("output", *done.graph, done.graph->table.outputs);
  for (const auto& more : done.graph->table.graphs) std::printf("%-12s  %s\n", "graph besides", more->name.c_str());
  if (done.labels > 0) std::printf("%-12s  %zu\n", "labels", done.labels);
  print_notes(done);
}

int convert_checkpoint(const ConvertArguments& o) {
  if (o.dry_run && !o.certify.empty()) fail("--dry-run: not with --certify, which runs the blob");
  if (!o.model.empty()) require_known("--model", o.model);
  if (!o.like.empty()) require_known("--like", o.like);
  if (!o.detect.empty()) require_detector(o.detect);
  ConvertOptions options;
  options.state_dict = o.state_dict;
  options.model = o.model;
  options.output = o.output.empty() ? default_output(o) : fs::path(o.output);
  options.settings = settings_of(o);
  options.weights = o.weights;
  options.keep_taps = o.keep_taps;
  options.exportable = o.exportable;
  options.dry_run = o.dry_run;
  options.labels = o.labels;
  options.read = o.read;
  options.characters = o.characters;
  const fs::path folder = options.output.parent_path();
  if (!folder.empty() && !fs::is_directory(folder)) {
    fail("cannot write %s: there is no folder %s", options.output.c_str(), folder.c_str());
  }
  if (fs::is_directory(options.output)) fail("cannot write %s: it is a folder", options.output.c_str());

  if (!o.certify.empty())
    options.certify = [fixture = parity::read_fixture(o.certify)](const fs::path& blob) {
      return parity::certificates_of(blob, fixture);
    };
  locate(o, &options);

  const auto start = std::chrono::steady_clock::now();
  Conversion done;
  const auto run = [&] {
    ProgressLine line("converting");
    options.progress = [&line](std::string_view step, double fraction) { line.update(std::string(step), fraction); };
    done = convert(options);
  };
#if defined(FERRY_HAS_ONNX)
  try {
    run();
  } catch (const onnx::Refused& refused) {
    return print_refusal(refused, o.report == "json");
  }
#else
  run();
#endif
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  if (o.dry_run) {
    print_dry_run(done, options.output, seconds());
    return kDone;
  }
  const uint64_t parameters = summarize(options.output.string()).parameters;
  std::printf("%s: ", options.output.c_str());
  print_network(done, parameters, seconds());
  print_notes(done);
  return kDone;
}

#else

int convert_checkpoint(const ConvertArguments&) {
  fail("this build has no converter: convert on a desktop build, then bring the .ferry file here");
}

#endif

// The names of --detect, for the help.
std::string detectors() {
#if defined(FERRY_HAS_CONVERTER)
  return join(detect::known_names(), ", ");
#else
  return "a detector's name";
#endif
}

}  // namespace

void add_convert(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "convert", "Turn a checkpoint into a blob that runs on devices");
  app.footer(
      "\nReads safetensors, PyTorch's .pth, .pt and .bin (any of them sharded by its *.index.json), TensorFlow.js\n"
      "layers models (model.json), or the folder that holds one. Nothing in a PyTorch file is run; one that holds\n"
      "more than tensors, containers and plain values is refused. Every tensor of the checkpoint must find its\n"
      "place; nothing is left at random.\n"
      "Without --model, the config.json beside the checkpoint (timm's or transformers'), or its keys, must tell which\n"
      "network it is.\n"
      "\nAn ONNX file (.onnx) says itself which network it is. Where it cannot be converted, every reason is named.\n"
      "\nhf:ORG/NAME is a repository of the Hugging Face hub. Its files come to the cache that Python's packages use\n"
      "(~/.cache/huggingface/hub), are checked, and are not downloaded twice. HF_TOKEN, HF_HUB_OFFLINE, HF_ENDPOINT,\n"
      "HF_HOME and HF_HUB_CACHE mean what they mean there.\n"
      "Nothing is left at the output's place unless the whole conversion succeeds.\n"
      "\nExamples:\n"
      "  ferry convert model.safetensors --model mobilenetv2_100 -o m.ferry\n"
      "  ferry convert hf:timm/resnet50.a1_in1k\n"
      "  ferry convert training.pth --state-dict model --model resnet50\n"
      "  ferry convert model.safetensors --model resnet50 --num-classes 0       features, no classifier\n"
      "  ferry convert model.safetensors --model resnet50 --features 1,2,3,4    a detector's pyramid\n"
      "  ferry convert model.safetensors --model resnet18 --in-chans 1 --input-size 288x288\n"
      "  ferry convert finetuned/ --labels flowers.txt -o flowers.ferry         one class name a line\n"
      "  ferry convert llama/ -o llama.ferry                                    a language model, with its tokenizer\n"
      "  ferry convert net.onnx --shape input=1x3x224x224 -o net.ferry\n"
      "  ferry convert net.onnx --dry-run                                       what would be built\n"
      "  ferry convert net.onnx --like timm/resnet50.a1_in1k                    a classifier that takes photographs\n"
      "  ferry convert net.onnx --labels c.txt --mean 0.5 --std 0.5 --resize 256 --crop 224x224 --filter bicubic\n"
      "  ferry convert net.onnx --dynamic batch                                 one blob for any batch\n"
      "  ferry convert det.onnx --read rec.onnx --characters keys.txt -o r.ferry   PP-OCR: finds and reads text\n"
      "  ferry convert face.onnx --detect ultraface                             boxes, drawn by `ferry run`\n"
      "  ferry convert model.safetensors --model resnet50 --certify fixtures/timm_resnet50_a1_in1k");
  auto o = std::make_shared<ConvertArguments>();
  app.add_option("CKPT", o->checkpoint, "The checkpoint: a file, a folder with one in it, or hf:ORG/NAME")
      .required()
      .type_name("");
  app.add_option("--revision", o->revision, "Branch, tag or commit of hf:ORG/NAME; without it: main").type_name("REV");
  app.add_option("--state-dict", o->state_dict,
                 "Which dictionary of a PyTorch file. Without it: averaged weights (EMA) before plain ones")
      .type_name("KEY");
  app.add_option("--model", o->model, "Which network it is, as `ferry models` lists them").type_name("VARIANT");
  app.add_option("-o,--output", o->output,
                 "The blob to write. Without it: NAME.ferry, or the checkpoint's name, in this folder")
      .type_name("FILE");
  const Argument classes = app.add_option("--num-classes", o->num_classes,
                                          "Classes that the checkpoint has; 0 gives features without a classifier")
                               .type_name("N");
  const Argument chans =
      app.add_option("--in-chans", o->in_chans, "Channels of the input; the first convolution is adapted as timm does")
          .type_name("N");
  app.add_option("--input-size", o->input_size, "Height and width the blob is made for").type_name("HxW");
  const Argument max_length = app.add_option("--max-length", o->max_length,
                                             "Longest text of a language model, prompt and answer together, in tokens. "
                                             "Without it: 4096, or as many as it was trained for")
                                  .type_name("N");
  app.add_option("--shape", o->shapes,
                 "Size of an ONNX file's input, where the file leaves it open: input=1x3x224x224; once an input")
      .type_name("NAME=SIZES");
  app.add_option(
         "--dynamic", o->dynamic,
         "A dimension of an ONNX file's inputs that the blob leaves open, by the file's name for it (batch) or by "
         "input and place (input:0); once a dimension")
      .type_name("NAME");
  app.add_option("--no-recognise", o->without,
                 "Leave an ONNX file's operators as they are where this recogniser would put one for many (gelu, "
                 "attention... or all), to compare; once a name")
      .type_name("NAME");
  app.add_option("--detect", o->detect,
                 "How an ONNX file's outputs become boxes: " + detectors() +
                     "; FILE.json, as docs/tasks.md tells; or none. Without it: as a network is recognised by its "
                     "outputs")
      .type_name("RECIPE");
  constexpr struct {
    const char *name, *type, *help;
  } kImage[] = {
      {"mean", "LIST", "Of an ONNX file's images: a mean for each channel or all, in the network's order"},
      {"std", "LIST", "Deviations, as --mean; colours become (colour - mean) / deviation"},
      {"range", "1|255", "What white is before that; without it: 255 where a mean or deviation is above 1, else 1"},
      {"colour", "rgb|bgr|gray", "The order of channels"},
      {"resize", "MODE",
       "How an image gets the input's size: stretch, letterbox (in its middle), letterbox-corner, crop (its centre), "
       "or its shorter edge (256) or size (256x320) before the centre is cut out"},
      {"crop", "HxW", "What is cut out: the input's size"},
      {"filter", "nearest|box|bilinear|hamming|bicubic|lanczos", "Of resizing"},
      {"fill", "LIST", "The colour around an image in a letterbox; without it: black"},
  };
  for (const auto& option : kImage)
    app.add_option(std::string("--") + option.name, o->image[option.name], option.help).type_name(option.type);
  app.add_option("--like", o->like,
                 "Prepare an ONNX file's images as this variant of `ferry models` does, and name the classes as it\n"
                 "does where they are as many; without it: as a preprocessor_config.json beside the file says")
      .type_name("VARIANT");
  app.add_option("--report", o->report, "How the reasons are told why an ONNX file cannot be converted")
      .one_of({"text", "json"});
  app.add_option("--features", o->features,
                 "Give these maps of the backbone's pyramid, numbered from the finest, and no classes: 0,1,2,3")
      .delimiter(',')
      .type_name("LIST");
  app.add_option(
         "--weights", o->weights,
         "How weights are stored: f32; f16 (half the file, 3 digits); i8 or i4, integers with scales: those of\n"
         "linears and 1x1 convolutions, a quarter or a sixth of the bytes. docs/checkpoints.md says what it costs")
      .type_name("f32|f16|i8|i4")
      .capture_default_str();
  app.add_option("--labels", o->labels, "Text file with a class name a line").type_name("FILE");
  app.add_option("--read", o->read,
                 "With an ONNX file that finds lines of text: the one that reads a line. One blob of both reads text")
      .type_name("ONNX");
  app.add_option("--characters", o->characters, "Text file with the characters that --read knows, one a line")
      .type_name("FILE");
  app.add_flag("--unit-length", o->unit_length, "With --num-classes 0: the embedding that the blob gives has length 1");
  app.add_option("--certify", o->certify,
                 "Parity fixture to compare with; what it holds goes into the blob, for `ferry verify`")
      .type_name("FIXTURE");
  app.add_flag("--exportable", o->exportable,
               "Keep whatever `ferry export` needs to give the checkpoint back; without it: where that is little");
  app.add_flag("--dry-run", o->dry_run,
               "Say what would be built, of which size, with which inputs and outputs, and write no blob. The size is "
               "without what gives the checkpoint back");
  app.add_flag("--keep-taps", o->keep_taps, "Keep every module's output, for parity; costs speed");
  app.callback([o, classes, chans, max_length, exit_code] {
    o->has_classes = classes.given();
    o->has_chans = chans.given();
    o->has_max_length = max_length.given();
    *exit_code = convert_checkpoint(*o);
  });
}

}  // namespace ferry::cli
