// ferry convert
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>

#include "cli/command.h"
#include "cli/parity/certify.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/quantise.h"
#include "cli/summary.h"
#include "cli/text.h"
#include "cli/unconverted.h"
#if defined(FERRY_HAS_CONVERTER)
#include "converter/hub/hub.h"
#include "converter/quantize/bound.h"
#include "models/families.h"
#endif

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;

// The arguments of the command itself. Options of the conversion are rows (converter/option.h).
struct ConvertArguments {
  std::string checkpoint, output;
  std::string revision, certify, report = "text", activations;
  QuantiseOptions quantise;
  bool dry_run = false;

  bool on_integers() const { return !activations.empty(); }
};

#if defined(FERRY_HAS_CONVERTER)

// A conversion option and the variables that the parser writes to.
struct ParsedOption {
  const Option& option;
  std::string value;
  std::vector<std::string> values;
  bool flag = false;
};
using ParsedOptions = std::deque<ParsedOption>;  // the parser keeps pointers to the elements

// Adds the options of all formats. Headings name the formats that accept an option.
void add_conversion_options(const Command& app, ParsedOptions* parsed) {
  const auto place = [](const Argument& argument, const std::string& heading) {
    if (!heading.empty()) argument.group(heading);
  };
  const auto add = [&](std::span<const Option> options) {
    for (const Option& option : options) {
      const auto has_name = [&](const ParsedOption& p) { return p.option.name == option.name; };
      if (std::any_of(parsed->begin(), parsed->end(), has_name)) continue;  // another format has it, too
      const std::string formats = formats_with(option.name), heading = formats.empty() ? "" : "Options for " + formats;
      ParsedOption& p = parsed->emplace_back(ParsedOption{option, option.absent, {}, false});
      const std::string name = "--" + option.name;
      switch (option.takes) {
        case Option::Takes::Nothing: place(app.add_flag(name, p.flag, option.help), heading); break;
        case Option::Takes::Value: {
          const Argument argument = app.add_option(name, p.value, option.help);
          place(argument.type_name(option.argument), heading);
          if (!option.absent.empty()) argument.capture_default_str();
          break;
        }
        case Option::Takes::Values:
          place(app.add_option(name, p.values, option.help).type_name(option.argument), heading);
          break;
        case Option::Takes::List:
          place(app.add_option(name, p.values, option.help).delimiter(',').type_name(option.argument), heading);
          break;
      }
    }
  };
  add(common_options());
  for (const ferry::Source& source : sources()) add(source.options());
}

ferry::Settings settings_of(const ParsedOptions& parsed) {
  ferry::Settings settings;
  for (const ParsedOption& p : parsed) {
    if (p.flag || (!p.value.empty() && p.value != p.option.absent)) settings.set(p.option.name, p.value);
    for (const std::string& value : p.values) settings.add(p.option.name, value);
  }
  return settings;
}

// Sets the checkpoint's path and origin. Downloads a checkpoint of the hub to the cache first. Returns notes about it.
std::vector<std::string> locate(const ConvertArguments& o, ConvertOptions* options) {
  options->checkpoint = o.checkpoint;
  if (!is_hub_reference(o.checkpoint)) {
    if (!o.revision.empty()) fail("--revision %s: only for hf:ORG/NAME", o.revision.c_str());
    if (!fs::exists(options->checkpoint)) fail("%s does not exist", o.checkpoint.c_str());
    return {};
  }
#if defined(FERRY_HAS_HUB)
  ProgressLine line("downloading");
  const HubFile file = fetch_from_hub(parse_hub_reference(o.checkpoint, o.revision), HubSettings::from_environment(),
                                      [&line](const std::string& name, uint64_t done, uint64_t total) {
                                        line.update(name, static_cast<double>(done) / static_cast<double>(total));
                                      });
  options->checkpoint = file.path;
  options->source = file.source;
  return file.notes;
#else
  fail("%s: this build cannot download (FERRY_HUB is off); download the files and pass their folder",
       o.checkpoint.c_str());
#endif
}

// NAME.ferry, by --model, the repository's name, or the checkpoint's name. A file with a generic name, such as
// model.safetensors, is named by its folder.
fs::path default_output(const ConvertArguments& o, const std::string& model) {
  if (!model.empty()) return fs::path(model).filename().string() + ".ferry";
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

// Prints inputs or outputs of a graph.
void print_ports(const char* title, const Graph& graph, const std::vector<std::unique_ptr<fbs::PortT>>& ports) {
  for (size_t i = 0; i < ports.size(); ++i) {
    const Shape shape = graph.shape(ports[i]->tensor);
    std::vector<int64_t> sides;
    for (int d = 0; d < shape.rank; ++d) sides.push_back(shape[d]);
    print("%-12s  %s %s %s", i == 0 ? title : "", ports[i]->name.c_str(),
          graph.dtype(ports[i]->tensor) == fbs::DType::Int32 ? "int32" : "float32", shape_text(sides).c_str());
    if (ports[i]->source_layout == fbs::Layout::NCHW && shape.rank >= 3) {
      std::rotate(sides.begin() + 1, sides.end() - 1, sides.end());
      print(", in its framework %s", shape_text(sides).c_str());
    }
    print("\n");
  }
}

// The number of elements of all constants except scales, as in summarize().
uint64_t parameters_of(const Graph& graph) {
  std::vector<bool> scale(graph.table.tensors.size());
  for (const auto& tensor : graph.table.tensors)
    if (const Type type = type_of(*tensor); type.quantized && type.float_scale == 0) scale[index_of(type.scale)] = true;
  uint64_t count = 0;
  for (const TensorId t : graph.tensors())
    if (graph.is_constant(t) && !scale[index_of(t)]) count += static_cast<uint64_t>(graph.shape(t).elements());
  return count;
}

void print_notes(const Conversion& done) {
  for (const std::string& note : done.notes) print("%s\n", note.c_str());
  if (const auto& found = done.detector)
    print("detector %s%s: %d boxes, %d class%s\n", found->name.c_str(),
          found->recognised ? ", recognised by the outputs (--detect none keeps them unchanged)" : "", found->boxes,
          found->classes, found->classes == 1 ? "" : "es");
}

void print_network(const Conversion& done, uint64_t parameters, double seconds) {
  print("%s (%s, %s), %s, %s parameters, %zu operators, %zu taps, in %.1f s\n", done.variant.c_str(),
        done.family.c_str(), done.framework.c_str(), bytes_text(done.bytes).c_str(), grouped(parameters).c_str(),
        done.operators, done.taps, seconds);
}

void print_dry_run(const Conversion& done, const fs::path& output, double seconds) {
  print("%s, not written: ", output.c_str());
  print_network(done, parameters_of(*done.graph), seconds);
  print_ports("input", *done.graph, done.graph->table.inputs);
  print_ports("output", *done.graph, done.graph->table.outputs);
  for (const auto& more : done.graph->table.graphs) print("%-12s  %s\n", "other graph", more->name.c_str());
  if (done.labels > 0) print("%-12s  %zu\n", "labels", done.labels);
  print_notes(done);
  for (const std::string& detail : done.details) print("%s\n", detail.c_str());
}

// A float blob between conversion and quantisation.
class FloatBlob {
 public:
  explicit FloatBlob(const fs::path& output) : path_(output.string() + ".float") {}
  ~FloatBlob() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  FloatBlob(const FloatBlob&) = delete;
  FloatBlob& operator=(const FloatBlob&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Throws Error if the options of a quantised network are incomplete.
void check_integers(const ConvertArguments& o, const ConvertOptions& options) {
  if (!o.on_integers()) {
    if (!o.quantise.bound.empty() || !o.quantise.device.empty()) fail("--bound and --device are for --activations i8");
    if (o.quantise.images.empty()) return;
    if (options.settings.text("weights") != "i4")
      fail("--calibrate: expected --weights i4 and a text, or --weights i8 --activations i8 and images");
    if (o.quantise.images.size() > 1) fail("--calibrate: expected one text with --weights i4");
    if (!fs::is_regular_file(o.quantise.images.front()))
      fail("--calibrate %s: expected a text file", o.quantise.images.front().c_str());
    return;
  }
  if (o.quantise.images.empty()) fail("--activations i8: expected --calibrate DIR, images as the app will see them");
  if (options.settings.text("weights") != "i8") fail("--activations i8: expected --weights i8 beside it");
  if (o.dry_run || !o.certify.empty()) fail("--activations i8: without --dry-run and --certify");
  // Before a conversion, which may take minutes.
  for (const std::string& path : o.quantise.images)
    if (!fs::exists(path)) fail("--calibrate %s: there is no such file or folder", path.c_str());
  if (!o.quantise.bound.empty()) int8::Bound::parse(o.quantise.bound);
}

int run_conversion(const ConvertArguments& o, const ParsedOptions& parsed) {
  if (o.dry_run && !o.certify.empty()) fail("--dry-run: not with --certify, which runs the blob");
  ConvertOptions options;
  options.settings = settings_of(parsed);
  options.output = o.output.empty() ? default_output(o, options.settings.text("model")) : fs::path(o.output);
  options.dry_run = o.dry_run;
  const fs::path folder = options.output.parent_path();
  if (!folder.empty() && !fs::is_directory(folder)) {
    fail("cannot write %s: there is no folder %s", options.output.c_str(), folder.c_str());
  }
  if (fs::is_directory(options.output)) fail("cannot write %s: it is a folder", options.output.c_str());

  if (!o.certify.empty())
    options.certify = [fixture = parity::read_fixture(o.certify)](const fs::path& blob) {
      return parity::certificates_of(blob, fixture);
    };
  check_values(options.settings, families());  // before a download
  check_integers(o, options);
  if (!o.on_integers() && !o.quantise.images.empty()) options.calibrate = o.quantise.images.front();
  const fs::path output = options.output;
  const FloatBlob between(output);
  if (o.on_integers()) {
    options.settings.erase("weights");
    options.output = between.path();
  }
  const std::vector<std::string> notes = locate(o, &options);

  const auto start = std::chrono::steady_clock::now();
  Conversion done;
  const auto run = [&] {
    ProgressLine line("converting");
    options.progress = [&line](std::string_view step, double fraction) { line.update(std::string(step), fraction); };
    done = convert(options);
  };
  try {
    run();
  } catch (const Refused& refused) {
    return print_refusal(refused, o.report == "json");
  }
  done.notes.insert(done.notes.begin(), notes.begin(), notes.end());
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  if (o.dry_run) {
    print_dry_run(done, options.output, seconds());
    return kDone;
  }
  const uint64_t parameters = summarize(options.output.string()).parameters;
  print("%s: ", output.c_str());
  print_network(done, parameters, seconds());
  print_notes(done);
  if (!o.on_integers()) return kDone;
  QuantiseOptions quantisation = o.quantise;
  quantisation.model = between.path().string();
  quantisation.output = output.string();
  return quantise(quantisation);
}

#else

struct ParsedOption {};
using ParsedOptions = std::deque<ParsedOption>;
void add_conversion_options(const Command&, ParsedOptions*) {}
int run_conversion(const ConvertArguments&, const ParsedOptions&) {
  fail("this build has no converter: convert with a desktop build, and copy the .ferry file here");
}

#endif

}  // namespace

void add_convert(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "convert", "Convert a checkpoint or an ONNX file to a blob that runs on devices");
  app.footer(
      "\nCheckpoints are safetensors files, PyTorch files (.pth, .pt, .bin), GGUF files of language models,\n"
      "TensorFlow.js layers models (model.json), or a folder with one of them; sharded ones have an *.index.json, or\n"
      "parts named -00001-of-00003.gguf. No code in a PyTorch file is run; objects beside the weights are skipped.\n"
      "Every tensor of the checkpoint must belong to the network, and none may be missing. Prefixes of wrappers\n"
      "(module., _orig_mod.) are removed from keys; --ignore-keys leaves keys out.\n"
      "\nWithout --model, the config.json of timm or transformers, or the checkpoint's keys, identify the network.\n"
      "\nAn ONNX file contains its network. If it cannot be converted, all reasons are printed.\n"
      "\nhf:ORG/NAME is a repository of the Hugging Face hub. Its files are downloaded once, to the cache of Python's\n"
      "packages (~/.cache/huggingface/hub), and checked. HF_TOKEN, HF_HUB_OFFLINE, HF_ENDPOINT, HF_HOME and\n"
      "HF_HUB_CACHE work as in Python.\n"
      "\nA conversion that fails writes no output.\n"
      "\nExamples:\n"
      "  ferry convert model.safetensors --model mobilenetv2_100 -o m.ferry\n"
      "  ferry convert hf:timm/resnet50.a1_in1k\n"
      "  ferry convert training.pth --state-dict model --model resnet50\n"
      "  ferry convert model.safetensors --model resnet50 --num-classes 0       features, no classifier\n"
      "  ferry convert model.safetensors --model resnet50 --features 1,2,3,4    feature maps, for a detector\n"
      "  ferry convert model.safetensors --model resnet18 --in-chans 1 --input-size 288x288\n"
      "  ferry convert finetuned/ --labels flowers.txt -o flowers.ferry         one class name per line\n"
      "  ferry convert llama/ -o llama.ferry                                    a language model, with its tokenizer\n"
      "  ferry convert llama-Q8_0.gguf --weights i8 -o llama.ferry\n"
      "  ferry convert llama/ --weights i4 --calibrate texts.txt                4 bits, with a smaller error\n"
      "  ferry convert model.safetensors --model mobilenetv2_100 --weights i8 --activations i8 --calibrate photos/\n"
      "  ferry convert net.onnx --shape input=1x3x224x224 -o net.ferry\n"
      "  ferry convert net.onnx --dry-run                                       size, inputs and outputs only\n"
      "  ferry convert net.onnx --like timm/resnet50.a1_in1k                    a classifier of photographs\n"
      "  ferry convert net.onnx --labels c.txt --mean 0.5 --std 0.5 --resize 256 --crop 224x224 --filter bicubic\n"
      "  ferry convert net.onnx --dynamic batch                                 one blob for any batch\n"
      "  ferry convert det.onnx --read rec.onnx --characters keys.txt -o r.ferry   OCR with PP-OCR\n"
      "  ferry convert face.onnx --detect ultraface                             boxes, drawn by `ferry run`\n"
      "  ferry convert model.safetensors --model resnet50 --certify fixtures/timm_resnet50_a1_in1k");
  auto o = std::make_shared<ConvertArguments>();
  auto parsed = std::make_shared<ParsedOptions>();
  app.add_option("CKPT", o->checkpoint, "Checkpoint or ONNX file, folder with a checkpoint, or hf:ORG/NAME")
      .required()
      .type_name("");
  app.add_option("-o,--output", o->output,
                 "Blob to write. Default: NAME.ferry in this folder, named after the model or checkpoint")
      .type_name("FILE");
  app.add_option("--revision", o->revision, "Branch, tag or commit of hf:ORG/NAME. Default: main").type_name("REV");
  app.add_option("--certify", o->certify,
                 "Parity fixture whose reference values the blob stores, for `ferry verify` on the device")
      .type_name("FIXTURE");
  app.add_flag("--dry-run", o->dry_run,
               "Write no blob; print its size, inputs and outputs. The size excludes the data that restores the "
               "checkpoint");
  app.add_option("--report", o->report, "Format of the reasons why a file cannot be converted")
      .one_of({"text", "json"});
  add_conversion_options(app, parsed.get());
  app.group("Networks on integers (`ferry quantise`)");
  app.add_option("--activations", o->activations, "i8: compute on Int8, with --weights i8 and --calibrate")
      .one_of({"i8"});
  app.add_option(
         "--calibrate", o->quantise.images,
         "Images as the app will see them, or folders of them. With --weights i4 alone: a text of the kind that "
         "a language model will see, to round its weights by")
      .type_name("PATH");
  app.add_option("--bound", o->quantise.bound, "As of `ferry quantise`").type_name("BOUND");
  app.add_option("--device", o->quantise.device, "As of `ferry quantise`").type_name("FILE");
  app.callback([o, parsed, exit_code] { *exit_code = run_conversion(*o, *parsed); });
}

}  // namespace ferry::cli
