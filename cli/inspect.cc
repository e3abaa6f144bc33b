// ferry inspect
#include "cli/inspect.h"

#include "cli/onnx.h"
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

int inspect(const InspectOptions& o) {
#if defined(FERRY_HAS_ONNX)
  if (o.model.ends_with(".onnx")) return inspect_onnx(o.model, o.shapes, o.json);
#endif
  const Summary summary = summarize(o.model, o.graph);
  const ModelHandle model = open_model(o.model, o.graph);
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
      "\nThe file is verified whole first. The arena is what a session allocates for activations at the blob's own\n"
      "input size; their sum is what it would be without sharing. Shapes are channels last; the framework's own\n"
      "stand beside.\n"
      "\nExamples:\n"
      "  ferry inspect m.ferry\n"
      "  ferry inspect m.ferry --ops                 every operator with its output, work and weights\n"
      "  ferry inspect m.ferry --backend gpu         what runs on the GPU, what does not and why, and what it moves\n"
      "  ferry inspect m.ferry --json | jq .memory\n"
      "  ferry inspect net.onnx                      its operators, and whether `ferry convert` would take them");
  auto o = std::make_shared<InspectOptions>();
  app.add_option("MODEL", o->model, "The blob, or an ONNX file").required().type_name("");
  app.add_option("--shape", o->shapes,
                 "Size of an ONNX file's input, where the file leaves it open: input=1x3x224x224; once an input")
      .type_name("NAME=SIZES");
  app.add_option("--graph", o->graph, "Which graph of a blob that has several; without it: the first")
      .type_name("NAME");
  app.add_flag("--json", o->json, "All of it as JSON");
  app.add_flag("--ops", o->ops, "List the operators");
  add_backend_options(app, &o->backend, Tuning::No);
  app.callback([o, exit_code] { *exit_code = inspect(*o); });
}

}  // namespace ferry::cli
