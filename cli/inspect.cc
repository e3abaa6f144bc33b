// ferry inspect
#include "cli/inspect.h"

#include <cstdio>

#include "cli/drawing.h"
#include "cli/print.h"
#include "cli/unconverted.h"
#include "converter/write_file.h"
#include "sdk/text/verify_text.h"

namespace ferry::cli {
namespace {

InspectPlan make_plan(const InspectOptions& o, const Summary& s, const ModelHandle& model) {
  InspectPlan plan;
  ferry_session_options options = session_options(1);
  options.gpu_required = true;
  set_backend(o.backend, &options);
  ferry_session* session = nullptr;
  if (const ferry_status status = ferry_session_create(model.get(), &options, &session); status != FERRY_OK) {
    if (o.backend.gpu()) check(status);
    plan.problem = ferry_last_error();
    return plan;
  }
  const SessionHandle owner(session);
  plan.arena = ferry_session_arena_bytes(session);
  plan.packed = ferry_session_packed_bytes(session);
  if (!o.backend.gpu()) return plan;
  const ferry_report report = report_of(session);
  plan.device = report.device;
  plan.driver = report.driver;
  plan.transfers = report.transfers;
  plan.gpu_operators = report.gpu_operators;
  plan.cpu_operators = report.cpu_operators;
  plan.gpu = gpu_plan(*s.model, options);
  return plan;
}

bool is_drawing(const std::string& name) { return name.ends_with(".html") || name.ends_with(".svg"); }

// The microseconds of each operator in the second of two runs, with inputs of zeros.
std::vector<double> measure(const InspectOptions& o, const ModelHandle& model) {
  ferry_session_options options = session_options(0);
  options.profile = true;
  options.gpu_required = true;
  set_backend(o.backend, &options);
  const SessionHandle session = create_session(model, options);
  for (int run = 0; run < 2; ++run) check(ferry_session_run(session.get()));
  std::vector<double> times(ferry_session_profile_count(session.get()));
  for (size_t i = 0; i < times.size(); ++i) {
    ferry_profile_entry entry;
    check(ferry_session_profile(session.get(), i, &entry));
    times[i] = entry.microseconds;
  }
  return times;
}

int draw_graph(const InspectOptions& o, const Summary& summary, const ModelHandle& model) {
  const Drawing drawing = draw(summary, o.times ? measure(o, model) : std::vector<double>());
  const std::string text = o.drawing.ends_with(".svg") ? svg_of(drawing) : page_of(drawing);
  write_text_file(o.drawing, text);
  print("%s: %zu operators%s\n", o.drawing.c_str(), summary.ops.size(), o.times ? " and their times" : "");
  return kDone;
}

// A name with an ending that is no graph of the blob was meant as the file of a drawing.
void check_graph_name(const InspectOptions& o) {
  if (o.graph.find('.') == std::string::npos) return;
  std::shared_ptr<Model> model;
  check(Model::open(o.model.c_str(), &model));
  size_t index = 0;
  if (!model->find_graph(o.graph.c_str(), &index).ok())
    fail("--graph %s: a drawing is written to a file that ends in .html or .svg, and no graph has this name",
         o.graph.c_str());
}

int inspect(const InspectOptions& o) {
  if (o.times && o.drawing.empty())
    fail("--times goes with --graph FILE.html or FILE.svg: `ferry bench --ops` lists them");
  if (!o.drawing.empty() && o.json)
    fail("--json and --graph %s are two ways to show it: choose one", o.drawing.c_str());
  if (has_outline(o.model)) {
    if (o.drawing.empty()) return inspect_source(o.model, o.shapes, o.network, o.json);
    fail("--graph %s draws a blob: convert the file first: ferry convert %s", o.drawing.c_str(), o.model.c_str());
  }
  check_graph_name(o);
  const Summary summary = summarize(o.model, o.graph);
  const ModelHandle model = open_model(o.model, o.graph);
  if (!o.drawing.empty()) return draw_graph(o, summary, model);
  const InspectPlan plan = make_plan(o, summary, model);
  o.json ? print_json(o, summary, model, plan) : print_text(o, summary, model, plan);
  return kDone;
}

}  // namespace

std::vector<ferry_tensor> ports_of(const ModelHandle& model, size_t count, GetPort get) {
  std::vector<ferry_tensor> list(count);
  for (size_t i = 0; i < count; ++i) check(get(model.get(), i, &list[i]));
  return list;
}

std::vector<std::string> graph_names(const Model& model) {
  std::vector<std::string> names;
  for (size_t i = 0; i < model.graph_count(); ++i) names.push_back(model.graph_name(i));
  return names;
}

const fbs::Tokenizer* tokenizer_of(const Model& model) {
  const auto* bytes = model.root().text();
  if (bytes == nullptr) return nullptr;
  const fbs::Text* text = nullptr;
  check(read_text(std::as_bytes(std::span(bytes->data(), bytes->size())), &text));
  return text->tokenizer();
}

void add_inspect(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "inspect", "Show what a blob holds and what it needs");
  app.footer(
      "\nVerifies the whole file first. The arena is the memory that a session allocates for activations at the "
      "blob's\n"
      "input size; their sum is the size without sharing. Shapes are channels last, with the framework's shape "
      "beside.\n"
      "\nExamples:\n"
      "  ferry inspect m.ferry\n"
      "  ferry inspect m.ferry --ops                 every operator with its output, work and weights\n"
      "  ferry inspect m.ferry --backend gpu         which operators run on the GPU, which not and why\n"
      "  ferry inspect m.ferry --json | jq .memory\n"
      "  ferry inspect m.ferry --graph m.html --times    the graph as a page, timed on this machine\n"
      "  ferry inspect net.onnx                      its operators, and whether `ferry convert` accepts them");
  auto o = std::make_shared<InspectOptions>();
  app.add_option("MODEL", o->model, "The blob, or an ONNX or .tflite file").required().type_name("");
  app.add_option("--shape", o->shapes,
                 "Size of an input that an ONNX or .tflite file leaves open: input=1x3x224x224; one option per input")
      .type_name("NAME=SIZES");
  app.add_option("--network", o->network, "The network of a .tflite file that has several").type_name("NAME");
  app.add_option("--graph", o->graph_or_drawing,
                 "A graph of the blob, by name; without it: the first. Or the file of a\n"
                 "drawing, which ends in .html or .svg. May be given once for each")
      .type_name("NAME|FILE");
  app.add_flag("--times", o->times, "Put the time of each operator into the drawing, of a run on zeros");
  app.add_flag("--json", o->json, "Print JSON");
  app.add_flag("--ops", o->ops, "List the operators");
  add_backend_options(app, &o->backend, Tuning::No);
  app.callback([o, exit_code] {
    for (const std::string& word : o->graph_or_drawing) (is_drawing(word) ? o->drawing : o->graph) = word;
    *exit_code = inspect(*o);
  });
}

}  // namespace ferry::cli
