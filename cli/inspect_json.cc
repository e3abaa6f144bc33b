#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/inspect.h"
#include "cli/print.h"
#include "cli/quantise_rows.h"
#include "cli/text.h"

namespace ferry::cli {
namespace {

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

nlohmann::json gpu_json(const InspectOptions& o, const InspectPlan& plan) {
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
                      {"minimum_bytes", gpu.minimum_bytes},
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

}  // namespace

void print_json(const InspectOptions& o, const Summary& s, const ModelHandle& model, const InspectPlan& plan) {
  const fbs::Graph& graph = s.model->graph();
  nlohmann::json j;
  j["name"] = ferry_model_name(model.get());
  j["graphs"] = graph_names(*s.model);
  j["states"] = nlohmann::json::array();
  for (unsigned i = 0; s.model->root().states() && i < s.model->root().states()->size(); ++i) {
    const fbs::State& state = *s.model->root().states()->Get(i);
    j["states"].push_back({{"name", text_of(state.name())},
                           {"shape", std::vector<int32_t>(state.shape()->begin(), state.shape()->end())},
                           {"axis", state.axis()},
                           {"type", EnumNameDType(state.dtype())}});
    if (state.window() > 0) j["states"].back()["window"] = state.window();
  }
  if (const fbs::Provenance* from = s.model->root().provenance()) {
    nlohmann::json options = nlohmann::json::array();
    for (unsigned i = 0; from->options() && i < from->options()->size(); ++i) {
      const std::string option = from->options()->Get(i)->str();
      if (!is_stored_row(option)) options.push_back(option);
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
  j["inputs"] = ports_json(ports_of(model, ferry_model_input_count(model.get()), ferry_model_input));
  j["outputs"] = ports_json(ports_of(model, ferry_model_output_count(model.get()), ferry_model_output));
  j["taps"] = ports_json(ports_of(model, ferry_model_tap_count(model.get()), ferry_model_tap));
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
    j["postprocess"] = {
        {"task", fbs::EnumNameTask(p->task())}, {"upscale", p->upscale()}, {"halo", p->halo()},
        {"multiple_of", p->multiple_of()},      {"top", p->top()},         {"unit_length", p->unit_length()}};
    if (const fbs::Inpainting* mask = p->params_as_Inpainting())
      j["postprocess"]["mask"] = {{"known", mask->known()}, {"hole", mask->hole()}};
    if (const fbs::Ocr* reading = p->params_as_Ocr())
      j["postprocess"]["reading"] = {{"graph", text_of(reading->graph())},
                                     {"threshold", reading->threshold()},
                                     {"box_threshold", reading->box_threshold()},
                                     {"unclip", reading->unclip()},
                                     {"text_threshold", reading->text_threshold()}};
    const fbs::Landmarks* l = p->params_as_Landmarks();
    if (const fbs::Detection* d = l ? l->detection() : p->params_as_Detection())
      j["postprocess"]["detection"] = {{"threshold", d->threshold()},
                                       {"overlap", d->overlap()},
                                       {"across_classes", d->across_classes()},
                                       {"maximum", d->maximum()}};
    if (l != nullptr)
      j["postprocess"]["landmarks"] = {
          {"graph", text_of(l->graph())}, {"threshold", l->threshold()},       {"turned_by", {l->start(), l->end()}},
          {"angle", l->angle()},          {"around_start", l->around_start()}, {"shift", {l->shift_x(), l->shift_y()}},
          {"scale", l->scale()}};
  }
  j["labels"] = ferry_model_label_count(model.get());
  if (const fbs::Tokenizer* t = tokenizer_of(*s.model))
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
  print_document(j);
}

}  // namespace ferry::cli
