#include <cstdio>

#include "cli/graph_text.h"
#include "cli/inspect.h"
#include "cli/print.h"
#include "cli/quantise_rows.h"
#include "cli/text.h"

namespace ferry::cli {
namespace {

std::string own_text(const ferry_tensor& t) { return shape_text(std::vector<int64_t>(t.shape, t.shape + t.rank)); }

// A port's type in its framework, unless the library's own type is the same; else "".
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
    print("%-12s  %s %s %s", i == 0 ? title : "", t.name, dtype_name(t.dtype), own_text(t).c_str());
    const std::string type = source_type(ports, t);
    const bool turned = t.source_layout == FERRY_LAYOUT_NCHW;
    if (turned || !type.empty()) print(", in its framework");
    if (!type.empty()) print(" %s", type.c_str());
    if (turned) print(" %s", shape_text(source_shape(t)).c_str());
    print("\n");
  }
}

void print_ops(const Summary& s) {
  print("\n%5s  %-14s %-20s %10s %12s  %s\n", "", "op", "output", "MACs", "parameters", "module");
  for (size_t i = 0; i < s.ops.size(); ++i) {
    const OpSummary& op = s.ops[i];
    print("%5zu  %-14s %-20s %10s %12s  %s\n", i, op.op.c_str(), to_string(op.output).c_str(),
          op.macs ? scaled(static_cast<double>(op.macs)).c_str() : "",
          op.parameters ? grouped(op.parameters).c_str() : "", op.name.c_str());
  }
}

void print_gpu(const InspectOptions& o, const InspectPlan& plan) {
  const GpuPlan& gpu = plan.gpu;
  print("%-12s  %s, %s\n", "device", plan.device.c_str(), plan.driver.c_str());
  print(
      "%-12s  %zu operators on the GPU (%zu ride on another's kernel; %zu dispatches), %zu on the CPU, %zu values "
      "cross\n",
      "partition", plan.gpu_operators, gpu.riders, gpu.dispatches, plan.cpu_operators, plan.transfers);
  print("%-12s  %s moved, at least %s: %.2f times; %s operations\n", "traffic", bytes_text(gpu.bytes).c_str(),
        bytes_text(gpu.minimum_bytes).c_str(), gpu.ratio(), scaled(static_cast<double>(gpu.operations)).c_str());
  for (const GpuStep& step : gpu.steps) {
    if (!step.on_gpu)
      print("%-12s  %s %s: %s\n", "on the CPU", step.op.c_str(), step.module.c_str(), step.reason.c_str());
  }
  if (!o.ops) return;
  print("\n%5s  %-22s %-20s %10s %10s  %-38s %s\n", "", "operators", "output", "moved", "operations", "kernels",
        "module");
  for (const GpuStep& step : gpu.steps) {
    print("%5zu  %-22s %-20s %10s %10s  %-38s %s\n", step.last, step.op.c_str(), to_string(step.output).c_str(),
          bytes_text(step.bytes).c_str(), scaled(static_cast<double>(step.operations)).c_str(),
          step.on_gpu ? step.kernels.empty() ? "a view" : step.kernels.c_str() : "on the CPU", step.module.c_str());
  }
}

void print_states(const Model& model) {
  const auto* states = model.root().states();
  constexpr unsigned kShown = 4;
  for (unsigned i = 0; states && i < states->size() && i <= kShown; ++i) {
    const fbs::State& state = *states->Get(i);
    if (i == kShown) {
      print("%-12s  and %u more\n", "", states->size() - kShown);
    } else {
      print("%-12s  %s, %s\n", i == 0 ? "state" : "", text_of(state.name()).c_str(), state_text(state).c_str());
    }
  }
}

}  // namespace

void print_text(const InspectOptions& o, const Summary& s, const ModelHandle& model, const InspectPlan& plan) {
  const fbs::Graph& graph = s.model->graph();
  const fbs::Provenance* from = s.model->root().provenance();
  print("%-12s  %s\n", "model", ferry_model_name(model.get()));
  if (const std::vector<std::string> names = graph_names(*s.model); names.size() > 1)
    print("%-12s  %zu over the same weights: %s (--graph NAME)\n", "graphs", names.size(), join(names, ", ").c_str());
  if (from) {
    print("%-12s  %s (%s, %s)\n", "network", text_of(from->variant()).c_str(), text_of(from->family()).c_str(),
          text_of(from->framework()).c_str());
    print("%-12s  %s, sha256 %s\n", "source", text_of(from->source()).c_str(), text_of(from->source_sha256()).c_str());
    std::string options = from->state_dict() ? " --state-dict " + from->state_dict()->str() : "";
    for (size_t i = 0; from->options() && i < from->options()->size(); ++i) {
      const std::string option = from->options()->Get(static_cast<unsigned>(i))->str();
      if (!is_stored_row(option)) options += " " + option;
    }
    print("%-12s  %s%s%s\n", "converted by", text_of(from->converter()).c_str(), options.empty() ? "" : ", with",
          options.c_str());
  }
  if (const fbs::Certificate* c = graph.certificate()) {
    print("%-12s  %u stages of %s (%s): `ferry verify` measures them\n", "certificate",
          c->stages() ? c->stages()->size() : 0, text_of(c->fixture()).c_str(), text_of(c->library()).c_str());
  }
  print("%-12s  %s, of it %s weights\n", "file", bytes_text(s.file_bytes).c_str(), bytes_text(s.weight_bytes).c_str());
  for (unsigned i = 0; graph.packed() && i < graph.packed()->size(); ++i)
    print("%-12s  for %s, %s\n", i == 0 ? "packed" : "", text_of(graph.packed()->Get(i)->target()).c_str(),
          bytes_text(s.model->segment(graph.packed()->Get(i)->buffer()).size()).c_str());
  print("%-12s  %s parameters, %s multiply-adds\n", "size", grouped(s.parameters).c_str(),
        scaled(static_cast<double>(s.macs)).c_str());
  std::vector<std::string> stored;
  for (const StoredSummary& of : s.stored)
    stored.push_back(grouped(of.elements) + " " + of.type + " in " + bytes_text(of.bytes));
  print("%-12s  %s\n", "stored as", join(stored, ", ").c_str());
  print_ports("input", *graph.inputs(), ports_of(model, ferry_model_input_count(model.get()), ferry_model_input));
  print_ports("output", *graph.outputs(), ports_of(model, ferry_model_output_count(model.get()), ferry_model_output));
  print_states(*s.model);
  print("%-12s  %s\n", "preprocess", preprocess_text(graph.preprocess()).c_str());
  print("%-12s  %s\n", "task", task_text(graph).c_str());
  if (const fbs::Tokenizer* t = tokenizer_of(*s.model))
    print("%-12s  %s, %u pieces\n", "tokenizer", fbs::EnumNameTokenizerKind(t->kind()), t->pieces()->size());
  if (plan.problem.empty()) {
    print("%-12s  arena %s for activations of %s in all; packed weights %s\n", "memory plan",
          bytes_text(plan.arena).c_str(), bytes_text(s.activation_bytes).c_str(), bytes_text(plan.packed).c_str());
  } else {
    print("%-12s  none here: %s\n", "memory plan", plan.problem.c_str());
  }
  std::vector<std::string> counts;
  for (const auto& [op, count] : s.histogram) counts.push_back(op + " " + std::to_string(count));
  print("%-12s  %zu: %s\n", "operators", s.ops.size(), join(counts, ", ").c_str());
  std::vector<std::string> taps;
  for (const ferry_tensor& t : ports_of(model, ferry_model_tap_count(model.get()), ferry_model_tap))
    taps.push_back(t.name);
  constexpr size_t kShown = 8;
  const size_t total = taps.size();
  if (total > kShown) taps.resize(kShown);
  print("%-12s  %zu%s%s%s\n", "taps", total, total ? ": " : "", join(taps, ", ").c_str(),
        total > kShown ? ", ..." : "");
  if (o.backend.gpu()) {
    print_gpu(o, plan);
  } else if (o.ops) {
    print_ops(s);
  }
}

}  // namespace ferry::cli
