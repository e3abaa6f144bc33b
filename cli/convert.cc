// ferry convert
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>

#include "cli/command.h"
#include "cli/parity/certify.h"
#include "cli/progress.h"
#include "cli/summary.h"
#include "cli/text.h"
#include "cli/unconverted.h"
#if defined(FERRY_HAS_CONVERTER)
#include "converter/hub/hub.h"
#include "models/families.h"
#endif

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;

struct ConvertArguments {
  std::string checkpoint, output;
  std::string revision, certify, report = "text";  // what the command does around a conversion
  bool dry_run = false;
};

#if defined(FERRY_HAS_CONVERTER)

// An option of the conversion as the parser fills it.
struct Given {
  const Option& option;
  std::string value;
  std::vector<std::string> values;
  bool flag = false;
};

// Every option of every format, under a heading for each format. `given` stays where it is.
void add_conversion_options(const Command& app, std::deque<Given>* given) {
  const auto place = [](const Argument& argument, const std::string& heading) {
    if (!heading.empty()) argument.group(heading);
  };
  const auto add = [&](std::span<const Option> options, const std::string& heading) {
    for (const Option& option : options) {
      Given& g = given->emplace_back(Given{option, option.absent, {}, false});
      const std::string name = "--" + option.name;
      switch (option.takes) {
        case Option::Takes::Nothing: place(app.add_flag(name, g.flag, option.help), heading); break;
        case Option::Takes::Value: {
          const Argument argument = app.add_option(name, g.value, option.help);
          place(argument.type_name(option.argument), heading);
          if (!option.absent.empty()) argument.capture_default_str();
          break;
        }
        case Option::Takes::Values:
          place(app.add_option(name, g.values, option.help).type_name(option.argument), heading);
          break;
        case Option::Takes::List:
          place(app.add_option(name, g.values, option.help).delimiter(',').type_name(option.argument), heading);
          break;
      }
    }
  };
  add(common_options(), "");
  for (const ferry::Source& source : sources()) add(source.options(), "Options for " + std::string(source.plural));
}

void give_all(const std::deque<Given>& given, ConvertOptions* options) {
  for (const Given& g : given) {
    if (g.flag || (!g.value.empty() && g.value != g.option.absent)) options->give(g.option.name, g.value);
    for (const std::string& value : g.values) options->give(g.option.name, value);
  }
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

int run_conversion(const ConvertArguments& o, const std::deque<Given>& given) {
  if (o.dry_run && !o.certify.empty()) fail("--dry-run: not with --certify, which runs the blob");
  ConvertOptions options;
  give_all(given, &options);
  options.output = o.output.empty() ? default_output(o, options.model) : fs::path(o.output);
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
  check_values(options.given(), families());  // before a download
  locate(o, &options);

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

struct Given {};
void add_conversion_options(const Command&, std::deque<Given>*) {}
int run_conversion(const ConvertArguments&, const std::deque<Given>&) {
  fail("this build has no converter: convert on a desktop build, then bring the .ferry file here");
}

#endif

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
  auto given = std::make_shared<std::deque<Given>>();
  app.add_option("CKPT", o->checkpoint, "The checkpoint or ONNX file, a folder with a checkpoint in it, or hf:ORG/NAME")
      .required()
      .type_name("");
  app.add_option("-o,--output", o->output,
                 "The blob to write. Without it: NAME.ferry, or the checkpoint's name, in this folder")
      .type_name("FILE");
  app.add_option("--revision", o->revision, "Branch, tag or commit of hf:ORG/NAME; without it: main").type_name("REV");
  app.add_option("--certify", o->certify,
                 "Parity fixture to compare with; what it holds goes into the blob, for `ferry verify`")
      .type_name("FIXTURE");
  app.add_flag("--dry-run", o->dry_run,
               "Say what would be built, of which size, with which inputs and outputs, and write no blob. The size is "
               "without what gives the checkpoint back");
  app.add_option("--report", o->report, "How the reasons are printed if a file cannot be converted")
      .one_of({"text", "json"});
  add_conversion_options(app, given.get());
  app.callback([o, given, exit_code] { *exit_code = run_conversion(*o, *given); });
}

}  // namespace ferry::cli
