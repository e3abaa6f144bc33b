#include <cstdio>

#include "cli/inspect.h"
#include "cli/text.h"
#include "sdk/task/task.h"

namespace ferry::cli {
namespace {

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

std::string detection_text(const fbs::Detection& d) {
  char text[128];
  std::snprintf(text, sizeof(text), " of scores from %g, at most %d boxes, overlapping up to %g%s",
                static_cast<double>(d.threshold()), d.maximum(), static_cast<double>(d.overlap()),
                d.across_classes() ? " whatever their classes" : "");
  return text;
}

std::string task_text(const fbs::Graph& graph) {
  const fbs::Postprocess* p = graph.postprocess();
  const fbs::Task kind = task::task_of(graph);
  const std::string name = task::entry(kind).name;
  const std::string labels = ", " + std::to_string(graph.labels() ? graph.labels()->size() : 0) + " labels";
  switch (kind) {
    case fbs::Task::Classification:
    case fbs::Task::MultiLabel:
    case fbs::Task::SemanticSegmentation: return name + labels;
    case fbs::Task::ImageToImage:
      return "image to image, " + std::to_string(p->upscale()) + " times as large, halo of " +
             std::to_string(p->halo()) + " pixels" +
             (p->multiple_of() > 1 ? ", sides in multiples of " + std::to_string(p->multiple_of()) : "");
    case fbs::Task::Embedding: return p->unit_length() ? name + " of length 1" : name;
    case fbs::Task::Depth: return name + (p->params_as_Depth()->metric() ? " in metres" : ", larger is nearer");
    case fbs::Task::Detection: return name + detection_text(*p->params_as_Detection()) + labels;
    case fbs::Task::PromptedSegmentation: return name + " by graph " + task::second_graph(graph);
    case fbs::Task::Ocr: {
      const fbs::Ocr& r = *p->params_as_Ocr();
      char text[240];
      std::snprintf(
          text, sizeof(text), " of lines by graph %.64s; text from %g, boxes from %g, lines from %g, unclip %g",
          task::second_graph(graph), static_cast<double>(r.threshold()), static_cast<double>(r.box_threshold()),
          static_cast<double>(r.text_threshold()), static_cast<double>(r.unclip()));
      return name + text;
    }
    default: return name;
  }
}

void print_ops(const Summary& s) {
  std::printf("\n%5s  %-14s %-20s %10s %12s  %s\n", "", "op", "output", "MACs", "parameters", "module");
  for (size_t i = 0; i < s.ops.size(); ++i) {
    const OpSummary& op = s.ops[i];
    std::printf("%5zu  %-14s %-20s %10s %12s  %s\n", i, op.op.c_str(), to_string(op.output).c_str(),
                op.macs ? scaled(static_cast<double>(op.macs)).c_str() : "",
                op.parameters ? grouped(op.parameters).c_str() : "", op.name.c_str());
  }
}

void print_gpu(const InspectOptions& o, const InspectPlan& plan) {
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

std::string bound_of(const fbs::State& state) {
  const std::string shape = shape_text(std::vector<int64_t>(state.shape()->begin(), state.shape()->end()));
  if (state.axis() < 0) return shape + ", of fixed size";
  const std::string window = state.window() > 0 ? ", a window of " + std::to_string(state.window()) : "";
  return "up to " + shape + " along dimension " + std::to_string(state.axis()) + window;
}

void print_states(const Model& model) {
  const auto* states = model.root().states();
  constexpr unsigned kShown = 4;
  for (unsigned i = 0; states && i < states->size() && i <= kShown; ++i) {
    const fbs::State& state = *states->Get(i);
    if (i == kShown) {
      std::printf("%-12s  and %u more\n", "", states->size() - kShown);
    } else {
      std::printf("%-12s  %s, %s\n", i == 0 ? "state" : "", text_of(state.name()).c_str(), bound_of(state).c_str());
    }
  }
}

}  // namespace

void print_text(const InspectOptions& o, const Summary& s, const ModelHandle& model, const InspectPlan& plan) {
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
  print_ports("input", *graph.inputs(), ports_of(model, ferry_model_input_count(model.get()), ferry_model_input));
  print_ports("output", *graph.outputs(), ports_of(model, ferry_model_output_count(model.get()), ferry_model_output));
  print_states(*s.model);
  std::printf("%-12s  %s\n", "preprocess", preprocess_text(graph.preprocess()).c_str());
  std::printf("%-12s  %s\n", "task", task_text(graph).c_str());
  if (const fbs::Tokenizer* t = tokenizer_of(*s.model))
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
  for (const ferry_tensor& t : ports_of(model, ferry_model_tap_count(model.get()), ferry_model_tap))
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

}  // namespace ferry::cli
