// ferry inspect
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/gpu_plan.h"
#include "cli/onnx.h"
#include "cli/sdk.h"
#include "cli/summary.h"
#include "cli/text.h"

namespace ferry::cli {
namespace {

struct Options {
  std::string model, graph;
  BackendOptions backend;
  std::vector<std::string> shapes;
  bool json = false, ops = false;
};

// The memory plan at the default input size, or why there is none.
struct Plan {
  uint64_t arena = 0, packed = 0;
  std::string problem;
  // With --backend gpu.
  std::string device, driver;
  size_t transfers = 0, gpu_operators = 0, cpu_operators = 0;
  GpuPlan gpu;
};

Plan make_plan(const Options& o, const Summary& s, const ModelHandle& model) {
  Plan plan;
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
  const ferry_report report = report_of(owner);
  plan.device = report.device;
  plan.driver = report.driver;
  plan.transfers = report.transfers;
  plan.gpu_operators = report.gpu_operators;
  plan.cpu_operators = report.cpu_operators;
  plan.gpu = gpu_plan(*s.model, options);
  return plan;
}

using Getter = ferry_status (*)(const ferry_model*, size_t, ferry_tensor*);

std::vector<ferry_tensor> ports(const ModelHandle& model, size_t count, Getter get) {
  std::vector<ferry_tensor> list(count);
  for (size_t i = 0; i < count; ++i) check(get(model.get(), i, &list[i]));
  return list;
}

std::string own_text(const ferry_tensor& t) { return shape_text(std::vector<int64_t>(t.shape, t.shape + t.rank)); }

// A port's type in its framework, where that says more than the type that the library computes with; else "".
using Ports = flatbuffers::Vector<flatbuffers::Offset<fbs::Port>>;
std::string source_type(const Ports& ports, const ferry_tensor& t) {
  for (const fbs::Port* port : ports) {
    const std::string name = fbs::EnumNameDType(port->source_dtype());
    const bool same = port->source_dtype() == fbs::DType::Float32 || port->source_dtype() == fbs::DType::Int32;
    if (port->name()->str() == t.name && !same) return name;
  }
  return "";
}

void print_ports(const char* title, const Ports& ports, const std::vector<ferry_tensor>& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    const ferry_tensor& t = list[i];
    std::printf("%-12s  %s %s %s", i == 0 ? title : "", t.name, dtype_name(t.dtype), own_text(t).c_str());
    const std::string type = source_type(ports, t);
    const bool turned = t.source_layout == FERRY_LAYOUT_NCHW;
    if (turned || !type.empty()) std::printf(", in its framework");
    if (!type.empty()) std::printf(" %s", type.c_str());
    if (turned) std::printf(" %s", shape_text(source_shape(t)).c_str());
    std::printf("\n");
  }
}

std::string numbers(const flatbuffers::Vector<float>* list) {
  std::string text;
  for (size_t i = 0; list && i < list->size(); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.4g", i ? " " : "",
                  static_cast<double>(list->Get(static_cast<unsigned>(i))));
    text += number;
  }
  return text;
}

std::string size_text(int height, int width) { return std::to_string(height) + "x" + std::to_string(width); }

// "shorter edge to 256 (Bicubic), "
std::string resize_text(const fbs::Preprocess& p) {
  const std::string filter = std::string(" (") + fbs::EnumNameFilter(p.filter()) + "), ";
  const std::string size = size_text(p.resize_h(), p.resize_w());
  const std::string multiples = p.multiple_of() > 1 ? ", sides multiples of " + std::to_string(p.multiple_of()) : "";
  switch (p.resize_mode()) {
    case fbs::ResizeMode::None: break;
    case fbs::ResizeMode::ShortestEdge: return "shorter edge to " + std::to_string(p.resize_h()) + filter;
    case fbs::ResizeMode::LongestEdge: return "longer edge to " + std::to_string(p.resize_h()) + filter;
    case fbs::ResizeMode::Exact: return "to " + size + filter;
    case fbs::ResizeMode::Cover: return "to cover " + size + filter;
    case fbs::ResizeMode::Fit: return "to fit into " + size + filter;
    case fbs::ResizeMode::LeastScaling: return "near " + size + multiples + filter;
    case fbs::ResizeMode::PixelBudget:
      return std::to_string(p.min_pixels()) + " to " + std::to_string(p.max_pixels()) + " pixels" + multiples + filter;
  }
  return "";
}

std::string preprocess_text(const fbs::Preprocess* p) {
  if (!p) return "none: the app writes tensors";
  std::string text = resize_text(*p);
  if (p->crop_h() > 0) {
    text += std::string(p->corner() ? "padded to " : "centre crop ") + size_text(p->crop_h(), p->crop_w());
    text += (p->fill() ? " with " + numbers(p->fill()) : "") + ", ";
  }
  text += fbs::EnumNameColorOrder(p->color());
  text += " on 0..1";
  if (p->mean() && p->mean()->size()) text += ", minus " + numbers(p->mean());
  if (p->std() && p->std()->size()) text += ", over " + numbers(p->std());
  if (p->patch() > 0) text += ", in patches of " + size_text(p->patch(), p->patch());
  return text;
}

std::string task_text(const fbs::Graph& graph) {
  const fbs::Postprocess* p = graph.postprocess();
  if (!p || p->task() == fbs::Task::Tensors) return "tensors";
  if (p->task() == fbs::Task::Text) return "text";
  if (p->task() == fbs::Task::Embedding) return p->unit_length() ? "embedding of length 1" : "embedding";
  if (p->task() == fbs::Task::Classification || p->task() == fbs::Task::MultiLabel) {
    return std::string(p->task() == fbs::Task::MultiLabel ? "several classes at once, " : "classification, ") +
           std::to_string(graph.labels() ? graph.labels()->size() : 0) + " labels";
  }
  return "picture to picture, " + std::to_string(p->upscale()) + " times as large, halo of " +
         std::to_string(p->halo()) + " pixels";
}

std::string text_of(const flatbuffers::String* s) { return s ? s->str() : ""; }

void print_ops(const Summary& s) {
  std::printf("\n%5s  %-14s %-20s %10s %12s  %s\n", "", "op", "output", "MACs", "parameters", "module");
  for (size_t i = 0; i < s.ops.size(); ++i) {
    const OpSummary& op = s.ops[i];
    std::printf("%5zu  %-14s %-20s %10s %12s  %s\n", i, op.op.c_str(), to_string(op.output).c_str(),
                op.macs ? scaled(static_cast<double>(op.macs)).c_str() : "",
                op.parameters ? grouped(op.parameters).c_str() : "", op.name.c_str());
  }
}

void print_gpu(const Options& o, const Plan& plan) {
  const GpuPlan& gpu = plan.gpu;
  std::printf("%-12s  %s, %s\n", "device", plan.device.c_str(), plan.driver.c_str());
  std::printf(
      "%-12s  %zu operators on the GPU (%zu ride on another's kernel; %zu dispatches), %zu on the CPU, %zu values "
      "cross\n",
      "partition", plan.gpu_operators, gpu.riders, gpu.dispatches, plan.cpu_operators, plan.transfers);
  std::printf("%-12s  %s moved, at least %s: %.2f times; %s operations\n", "traffic", bytes_text(gpu.bytes).c_str(),
              bytes_text(gpu.minimum_bytes).c_str(), gpu.ratio(), scaled(static_cast<double>(gpu.operations)).c_str());
  for (const GpuStep& step : gpu.steps) {
    if (!step.on_gpu)
      std::printf("%-12s  %s %s: %s\n", "on the CPU", step.op.c_str(), step.module.c_str(), step.reason.c_str());
  }
  if (!o.ops) return;
  std::printf("\n%5s  %-22s %-20s %10s %10s  %-38s %s\n", "", "operators", "output", "moved", "operations", "kernels",
              "module");
  for (const GpuStep& step : gpu.steps) {
    std::printf("%5zu  %-22s %-20s %10s %10s  %-38s %s\n", step.last, step.op.c_str(), to_string(step.output).c_str(),
                bytes_text(step.bytes).c_str(), scaled(static_cast<double>(step.operations)).c_str(),
                step.on_gpu ? step.kernels.empty() ? "a view" : step.kernels.c_str() : "on the CPU",
                step.module.c_str());
  }
}

std::vector<std::string> graph_names(const Model& model) {
  std::vector<std::string> names;
  for (size_t i = 0; i < model.graph_count(); ++i) names.push_back(model.graph_name(i));
  return names;
}

std::string bound_of(const fbs::State& state) {
  return shape_text(std::vector<int64_t>(state.shape()->begin(), state.shape()->end()));
}

void print_states(const Model& model) {
  const auto* states = model.root().states();
  constexpr unsigned kShown = 4;
  for (unsigned i = 0; states && i < states->size() && i <= kShown; ++i) {
    const fbs::State& state = *states->Get(i);
    if (i == kShown) {
      std::printf("%-12s  and %u more\n", "", states->size() - kShown);
    } else {
      std::printf("%-12s  %s, up to %s along dimension %d\n", i == 0 ? "state" : "", text_of(state.name()).c_str(),
                  bound_of(state).c_str(), state.axis());
    }
  }
}

void print_text(const Options& o, const Summary& s, const ModelHandle& model, const Plan& plan) {
  const fbs::Graph& graph = s.model->graph();
  const fbs::Provenance* from = s.model->root().provenance();
  std::printf("%-12s  %s\n", "model", ferry_model_name(model.get()));
  if (const std::vector<std::string> names = graph_names(*s.model); names.size() > 1)
    std::printf("%-12s  %zu over the same weights: %s (--graph NAME)\n", "graphs", names.size(),
                join(names, ", ").c_str());
  if (from) {
    std::printf("%-12s  %s (%s, %s)\n", "network", text_of(from->variant()).c_str(), text_of(from->family()).c_str(),
                text_of(from->framework()).c_str());
    std::printf("%-12s  %s, sha256 %s\n", "source", text_of(from->source()).c_str(),
                text_of(from->source_sha256()).c_str());
    std::string options = from->state_dict() ? " --state-dict " + from->state_dict()->str() : "";
    for (size_t i = 0; from->options() && i < from->options()->size(); ++i) {
      options += " " + from->options()->Get(static_cast<unsigned>(i))->str();
    }
    std::printf("%-12s  %s%s%s\n", "converted by", text_of(from->converter()).c_str(), options.empty() ? "" : ", with",
                options.c_str());
  }
  if (const fbs::Certificate* c = graph.certificate()) {
    std::printf("%-12s  %u stages of %s (%s): `ferry verify` measures them\n", "certificate",
                c->stages() ? c->stages()->size() : 0, text_of(c->fixture()).c_str(), text_of(c->library()).c_str());
  }
  std::printf("%-12s  %s, of it %s weights\n", "file", bytes_text(s.file_bytes).c_str(),
              bytes_text(s.weight_bytes).c_str());
  for (unsigned i = 0; graph.packed() && i < graph.packed()->size(); ++i)
    std::printf("%-12s  for %s, %s\n", i == 0 ? "packed" : "", text_of(graph.packed()->Get(i)->target()).c_str(),
                bytes_text(s.model->segment(graph.packed()->Get(i)->buffer()).size()).c_str());
  std::printf("%-12s  %s parameters, %s multiply-adds\n", "size", grouped(s.parameters).c_str(),
              scaled(static_cast<double>(s.macs)).c_str());
  std::vector<std::string> stored;
  for (const StoredSummary& of : s.stored)
    stored.push_back(grouped(of.elements) + " " + of.type + " in " + bytes_text(of.bytes));
  std::printf("%-12s  %s\n", "stored as", join(stored, ", ").c_str());
  print_ports("input", *graph.inputs(), ports(model, ferry_model_input_count(model.get()), ferry_model_input));
  print_ports("output", *graph.outputs(), ports(model, ferry_model_output_count(model.get()), ferry_model_output));
  print_states(*s.model);
  std::printf("%-12s  %s\n", "preprocess", preprocess_text(graph.preprocess()).c_str());
  std::printf("%-12s  %s\n", "task", task_text(graph).c_str());
  if (const fbs::Tokenizer* t = s.model->root().tokenizer())
    std::printf("%-12s  %s, %u pieces\n", "tokenizer", fbs::EnumNameTokenizerKind(t->kind()), t->pieces()->size());
  if (plan.problem.empty()) {
    std::printf("%-12s  arena %s for activations of %s in all; packed weights %s\n", "memory plan",
                bytes_text(plan.arena).c_str(), bytes_text(s.activation_bytes).c_str(),
                bytes_text(plan.packed).c_str());
  } else {
    std::printf("%-12s  none here: %s\n", "memory plan", plan.problem.c_str());
  }
  std::vector<std::string> counts;
  for (const auto& [op, count] : s.histogram) counts.push_back(op + " " + std::to_string(count));
  std::printf("%-12s  %zu: %s\n", "operators", s.ops.size(), join(counts, ", ").c_str());
  std::vector<std::string> taps;
  for (const ferry_tensor& t : ports(model, ferry_model_tap_count(model.get()), ferry_model_tap))
    taps.push_back(t.name);
  constexpr size_t kShown = 8;
  const size_t total = taps.size();
  if (total > kShown) taps.resize(kShown);
  std::printf("%-12s  %zu%s%s%s\n", "taps", total, total ? ": " : "", join(taps, ", ").c_str(),
              total > kShown ? ", ..." : "");
  if (o.backend.gpu()) {
    print_gpu(o, plan);
  } else if (o.ops) {
    print_ops(s);
  }
}

nlohmann::json port_json(const ferry_tensor& t) {
  return {{"name", t.name},
          {"dtype", dtype_name(t.dtype)},
          {"shape", std::vector<int32_t>(t.shape, t.shape + t.rank)},
          {"source_layout", t.source_layout == FERRY_LAYOUT_NCHW ? "NCHW" : "same"},
          {"source_shape", source_shape(t)}};
}

nlohmann::json ports_json(const std::vector<ferry_tensor>& list) {
  nlohmann::json array = nlohmann::json::array();
  for (const ferry_tensor& t : list) array.push_back(port_json(t));
  return array;
}

nlohmann::json floats_json(const flatbuffers::Vector<float>* list) {
  nlohmann::json array = nlohmann::json::array();
  for (unsigned i = 0; list && i < list->size(); ++i) array.push_back(list->Get(i));
  return array;
}

nlohmann::json gpu_json(const Options& o, const Plan& plan) {
  const GpuPlan& gpu = plan.gpu;
  nlohmann::json j = {{"device", plan.device},
                      {"driver", plan.driver},
                      {"precision", o.backend.precision},
                      {"gpu_operators", plan.gpu_operators},
                      {"cpu_operators", plan.cpu_operators},
                      {"riders", gpu.riders},
                      {"dispatches", gpu.dispatches},
                      {"transfers", plan.transfers},
                      {"bytes_moved", gpu.bytes},
                      {"least_bytes", gpu.minimum_bytes},
                      {"operations", gpu.operations}};
  for (const GpuStep& step : gpu.steps) {
    nlohmann::json entry = {
        {"op", step.op},           {"module", step.module},     {"backend", step.on_gpu ? "gpu" : "cpu"},
        {"kernels", step.kernels}, {"bytes_moved", step.bytes}, {"operations", step.operations}};
    if (!step.on_gpu) entry["reason"] = step.reason;
    j["steps"].push_back(std::move(entry));
  }
  return j;
}

void print_json(const Options& o, const Summary& s, const ModelHandle& model, const Plan& plan) {
  const fbs::Graph& graph = s.model->graph();
  nlohmann::json j;
  j["name"] = ferry_model_name(model.get());
  j["graphs"] = graph_names(*s.model);
  j["states"] = nlohmann::json::array();
  for (unsigned i = 0; s.model->root().states() && i < s.model->root().states()->size(); ++i) {
    const fbs::State& state = *s.model->root().states()->Get(i);
    j["states"].push_back({{"name", text_of(state.name())},
                           {"shape", std::vector<int32_t>(state.shape()->begin(), state.shape()->end())},
                           {"axis", state.axis()}});
  }
  if (const fbs::Provenance* from = s.model->root().provenance()) {
    nlohmann::json options = nlohmann::json::array();
    for (unsigned i = 0; from->options() && i < from->options()->size(); ++i) {
      options.push_back(from->options()->Get(i)->str());
    }
    j["provenance"] = {{"family", text_of(from->family())},
                       {"variant", text_of(from->variant())},
                       {"framework", text_of(from->framework())},
                       {"source", text_of(from->source())},
                       {"source_sha256", text_of(from->source_sha256())},
                       {"converter", text_of(from->converter())},
                       {"options", options}};
    if (from->state_dict()) j["provenance"]["state_dict"] = from->state_dict()->str();
  }
  if (const fbs::Certificate* c = graph.certificate()) {
    j["certificate"] = {{"fixture", text_of(c->fixture())},
                        {"fixture_sha256", text_of(c->fixture_sha256())},
                        {"architecture", text_of(c->architecture())},
                        {"library", text_of(c->library())},
                        {"stages", c->stages() ? c->stages()->size() : 0}};
  }
  j["packed"] = nlohmann::json::array();
  for (unsigned i = 0; graph.packed() && i < graph.packed()->size(); ++i)
    j["packed"].push_back({{"target", text_of(graph.packed()->Get(i)->target())},
                           {"bytes", s.model->segment(graph.packed()->Get(i)->buffer()).size()}});
  j["file_bytes"] = s.file_bytes;
  j["weight_bytes"] = s.weight_bytes;
  j["parameters"] = s.parameters;
  j["stored_as"] = nlohmann::json::array();
  for (const StoredSummary& of : s.stored)
    j["stored_as"].push_back({{"type", of.type}, {"elements", of.elements}, {"bytes", of.bytes}});
  j["macs"] = s.macs;
  j["inputs"] = ports_json(ports(model, ferry_model_input_count(model.get()), ferry_model_input));
  j["outputs"] = ports_json(ports(model, ferry_model_output_count(model.get()), ferry_model_output));
  j["taps"] = ports_json(ports(model, ferry_model_tap_count(model.get()), ferry_model_tap));
  if (const fbs::Preprocess* p = graph.preprocess()) {
    j["preprocess"] = {{"resize", fbs::EnumNameResizeMode(p->resize_mode())},
                       {"resize_size", {p->resize_h(), p->resize_w()}},
                       {"filter", fbs::EnumNameFilter(p->filter())},
                       {"crop", {p->crop_h(), p->crop_w()}},
                       {"color", fbs::EnumNameColorOrder(p->color())},
                       {"mean", floats_json(p->mean())},
                       {"std", floats_json(p->std())},
                       {"fill", floats_json(p->fill())},
                       {"corner", p->corner()},
                       {"multiple_of", p->multiple_of()},
                       {"pixels", {p->min_pixels(), p->max_pixels()}},
                       {"patch", p->patch()},
                       {"patch_block", p->patch_block()},
                       {"patch_frames", p->patch_frames()}};
  }
  if (const fbs::Postprocess* p = graph.postprocess()) {
    j["postprocess"] = {{"task", fbs::EnumNameTask(p->task())},
                        {"upscale", p->upscale()},
                        {"halo", p->halo()},
                        {"top", p->top()},
                        {"unit_length", p->unit_length()}};
  }
  j["labels"] = ferry_model_label_count(model.get());
  if (const fbs::Tokenizer* t = s.model->root().tokenizer())
    j["tokenizer"] = {{"kind", fbs::EnumNameTokenizerKind(t->kind())}, {"pieces", t->pieces()->size()}};
  j["memory"] = {{"activation_bytes", s.activation_bytes}};
  if (plan.problem.empty()) {
    j["memory"]["arena_bytes"] = plan.arena;
    j["memory"]["packed_bytes"] = plan.packed;
  } else {
    j["memory"]["problem"] = plan.problem;
  }
  j["operators"] = s.histogram;
  if (o.backend.gpu()) j["gpu"] = gpu_json(o, plan);
  if (o.ops) {
    for (const OpSummary& op : s.ops) {
      j["graph"].push_back(
          {{"op", op.op},
           {"module", op.name},
           {"output", std::vector<int32_t>(op.output.dims.begin(), op.output.dims.begin() + op.output.rank)},
           {"macs", op.macs},
           {"parameters", op.parameters}});
    }
  }
  std::printf("%s\n", j.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

int inspect(const Options& o) {
#if defined(FERRY_HAS_ONNX)
  if (o.model.ends_with(".onnx")) return inspect_onnx(o.model, o.shapes, o.json);
#endif
  const Summary summary = summarize(o.model, o.graph);
  const ModelHandle model = open_model(o.model, o.graph);
  const Plan plan = make_plan(o, summary, model);
  (o.json ? print_json : print_text)(o, summary, model, plan);
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "inspect", "Show what a blob holds and what it needs");
  app.footer(
      "\nThe file is verified whole first. The arena is what a session allocates for activations at the blob's own "
      "input\n"
      "size; their sum is what it would be without sharing. Shapes are channels last; the framework's own stand "
      "beside.\n"
      "\nExamples:\n"
      "  ferry inspect m.ferry\n"
      "  ferry inspect m.ferry --ops                 every operator with its output, work and weights\n"
      "  ferry inspect m.ferry --backend gpu         what runs on the GPU, what does not and why, and what it moves\n"
      "  ferry inspect m.ferry --json | jq .memory\n"
      "  ferry inspect net.onnx                      its operators, and whether `ferry convert` would take them");
  auto o = std::make_shared<Options>();
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
