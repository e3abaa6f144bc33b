// ferry build
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "cli/command.h"
#include "cli/sdk.h"
#include "cli/text.h"
#include "converter/write_file.h"
#include "sdk/cpu/depthwise/depthwise.h"
#include "sdk/cpu/gemm/winograd.h"
#include "sdk/model/model.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/type.h"
#include "sdk/operators/type_rules.h"
#include "sdk/task/task.h"

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;

struct BuildOptions {
  std::vector<std::string> models;
  std::string target, output, source;
  bool no_gpu = false, no_files = false, float16 = false;
};

constexpr const char* kBuildDevice = "scripts/build-device";

// The lines that cmake/operators.cmake reads, each once.
using Parts = std::set<std::string>;

void add_operator(const Model& model, const fbs::Operator& op, Parts* parts) {
  parts->insert(std::string("operator ") + op_name(op.params_type()));
  if (const fbs::Conv2d* p = op.params_as_Conv2d()) {
    const Shape weight = model.shape(op.inputs()->Get(1)), output = model.shape(output_of(op));
    for (const auto& costs : {cpu::kWinogradOnArm64, cpu::kWinogradOnOthers})  // for every machine
      if (cpu::winograd_tile(*p, weight, output, costs) != 0) parts->insert("feature winograd");
    if (weight[3] == 1 && !cpu::depthwise_is_common(*p, weight)) parts->insert("feature other_depthwise");
  }
  const TypeSet weight = has_weight(op.params_type()) ? set_of(type_of(model.tensor(op.inputs()->Get(1)))) : 0;
  if ((weight & kQuantized) != 0) parts->insert("feature integers");
}

void add_model(const std::string& path, Parts* parts) {
  std::shared_ptr<Model> model;
  check(Model::open(path.c_str(), &model));
  for (size_t i = 0; i < model->graph_count(); ++i) {
    std::shared_ptr<const Model> graph;
    check(model->open_graph(i, &graph));
    for (const fbs::Operator* op : *graph->graph().operators()) add_operator(*graph, *op, parts);
    parts->insert(std::string("task ") + fbs::EnumNameTask(task::task_of(graph->graph())));
  }
}

void write_parts(const BuildOptions& o, const fs::path& file) {
  Parts parts;
  for (const std::string& path : o.models) add_model(path, &parts);
  if (!o.no_files) parts.insert("feature files");
  if (o.float16) parts.insert("feature float16");
  std::string text = "# What these need of the library, by `ferry build` (FERRY_OPERATORS_FILE):";
  for (const std::string& path : o.models) text += " " + fs::path(path).filename().string();
  text += "\n";
  for (const std::string& part : parts) text += part + "\n";
  write_text_file(file, text);
}

// The folder of Ferry's sources, above this program or above the current folder.
fs::path source_folder(const std::string& given) {
  if (!given.empty()) {
    if (!fs::exists(fs::path(given) / kBuildDevice)) fail("--source %s: it has no %s", given.c_str(), kBuildDevice);
    return given;
  }
  std::error_code ignored;
  for (const fs::path& start : {fs::read_symlink("/proc/self/exe", ignored), fs::current_path(ignored) / "here"}) {
    for (fs::path folder = start.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
      if (fs::exists(folder / kBuildDevice, ignored)) return folder;
  }
  fail("Ferry's sources are neither above this program nor above this folder: name them with --source");
}

int build(const BuildOptions& o) {
  if (o.target.empty()) {
    write_parts(o, o.output);
    return kDone;
  }
  const fs::path script = source_folder(o.source) / kBuildDevice;
  fs::create_directories(o.output);
  const fs::path file = fs::path(o.output) / "operators.txt";
  write_parts(o, file);
  std::vector<const char*> words = {script.c_str(), o.target.c_str(), "--operators", file.c_str(),
                                    "-o",           o.output.c_str()};
  if (o.no_gpu) words.push_back("--no-gpu");
  words.push_back(nullptr);
  ::execv(words[0], const_cast<char**>(words.data()));
  fail("%s cannot be started: %s", words[0], std::strerror(errno));
}

}  // namespace

void add_build(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "build", "Build a minimal library with only the operators of some blobs");
  app.footer(
      "\nThe library has the operators, kernels and tasks of these blobs. Opening another blob returns "
      "FERRY_UNSUPPORTED\n"
      "with a message that names what is missing. scripts/build-device builds it from Ferry's sources. Without a "
      "target\n"
      "only the list of operators is written, for CMake (-DFERRY_OPERATORS_FILE=FILE).\n"
      "\nExamples:\n"
      "  ferry build --for m.ferry arm64 --no-gpu -o small/      small/lib/libferry.so\n"
      "  ferry build --for m.ferry --for n.ferry -o parts.txt    only the list");
  auto o = std::make_shared<BuildOptions>();
  app.add_option("TARGET", o->target, "The device; without it only the list is written")
      .type_name("arm64|armv7|riscv64|android-arm64|android-armv7|android-x86_64");
  app.add_option("--for", o->models, "A blob that the library must run; may be repeated").required().type_name("MODEL");
  app.add_option("-o,--output", o->output, "Folder; without a target: the list's file").required().type_name("PATH");
  app.add_flag("--no-gpu", o->no_gpu, "Without the Vulkan backend");
  app.add_flag("--no-files", o->no_files,
               "Without reading and writing JPEG, PNG and BMP: the app has frames or pixels");
  app.add_flag("--float16", o->float16, "With float16 arithmetic on the CPU, for sessions that ask for it: 20 KB");
  app.add_option("--source", o->source, "Ferry's sources (default: a folder above this program, or above this folder)")
      .type_name("FOLDER");
  app.callback([o, exit_code] { *exit_code = build(*o); });
}

}  // namespace ferry::cli
