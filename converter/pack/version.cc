#include "converter/pack/version.h"

#include <algorithm>

#include "sdk/model/tensor_id.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/size_code.h"
#include "text_generated.h"

namespace ferry {
namespace {

bool needs_version_2(const fbs::OperatorT& op) {
  const auto* attention = op.params.AsAttention();
  return op.outputs.size() > 1 || (attention && (attention->causal || attention->window != 0 || attention->sinks));
}

bool needs_version_2(const fbs::GraphT& graph) {
  return !graph.graphs.empty() || !graph.states.empty() ||
         std::any_of(graph.tensors.begin(), graph.tensors.end(),
                     [](const auto& t) { return t->quantization != nullptr; }) ||
         std::any_of(graph.inputs.begin(), graph.inputs.end(), [](const auto& port) { return !port->bound.empty(); }) ||
         std::any_of(graph.operators.begin(), graph.operators.end(),
                     [](const auto& op) { return needs_version_2(*op); });
}

// The text has been verified (converter/text/text_files.h). The vocabulary is the last dimension of the logits.
bool needs_version_3(const fbs::GraphT& graph) {
  if (graph.text.empty() || graph.outputs.empty()) return false;
  const fbs::Text& text = *fbs::GetText(graph.text.data());
  const uint32_t pieces = text.tokenizer() != nullptr ? text.tokenizer()->pieces()->size() : 0;
  const auto& logits = *graph.tensors[index_of(graph.outputs.front()->tensor)];
  return text.ends() != nullptr || (!logits.shape.empty() && pieces > static_cast<uint32_t>(logits.shape.back()));
}

bool begins_from_the_end(const fbs::OperatorT& op) {
  const auto* slice = op.params.AsSlice();
  return slice && std::any_of(slice->begin.begin(), slice->begin.end(), [](int32_t begin) { return begin < 0; });
}

bool needs_version_4(const fbs::GraphT& graph) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(), [](const auto& port) { return port->is_count; }) ||
         std::any_of(graph.operators.begin(), graph.operators.end(),
                     [](const auto& op) { return begins_from_the_end(*op); }) ||
         std::any_of(graph.graphs.begin(), graph.graphs.end(), [](const auto& g) { return needs_version_4(*g); });
}

bool needs_version_5(const fbs::OperatorT& op) {
  const auto* slice = op.params.AsSlice();
  const auto* reshape = op.params.AsReshape();
  const auto* resize = op.params.AsResize2d();
  const auto* reverse = op.params.AsWindowReverse();
  const auto* pad = op.params.AsPad();
  return (pad && !pad->multiple.empty()) ||
         (slice && (std::any_of(slice->size.begin(), slice->size.end(), SizeCode::is_part) ||
                    std::count(slice->begin.begin(), slice->begin.end(), kLastElements) > 0)) ||
         (reshape && std::any_of(reshape->shape.begin(), reshape->shape.end(), SizeCode::is_part)) ||
         (resize && (SizeCode::is_part(resize->height) || SizeCode::is_part(resize->width))) ||
         (reverse && (SizeCode::is_part(reverse->height) || SizeCode::is_part(reverse->width)));
}

bool needs_version_5(const fbs::GraphT& graph) {
  return std::any_of(graph.states.begin(), graph.states.end(),
                     [](const auto& state) {
                       return state->dtype == fbs::DType::Float16 || state->dtype == fbs::DType::Int8;
                     }) ||
         std::any_of(graph.operators.begin(), graph.operators.end(),
                     [](const auto& op) { return needs_version_5(*op); }) ||
         std::any_of(graph.graphs.begin(), graph.graphs.end(), [](const auto& g) { return needs_version_5(*g); });
}

bool needs_version_6(const fbs::OperatorT& op, const fbs::GraphT& graph) {
  if (const auto* attention = op.params.AsAttention()) return attention->softcap != 0;
  if (!has_weight(op.params.type) || graph.tensors[index_of(op.inputs[0])]->dtype != fbs::DType::Int8) return false;
  const auto& quantization = graph.tensors[index_of(op.inputs[1])]->quantization;
  return quantization && quantization->zero_point != 0;
}

bool needs_version_6(const fbs::GraphT& graph) {
  const auto has_half_scales = [&](const auto& t) {
    return t->quantization && t->quantization->block > 0 &&
           graph.tensors[index_of(t->quantization->scale)]->dtype == fbs::DType::Float16;
  };
  return std::any_of(graph.tensors.begin(), graph.tensors.end(), has_half_scales) ||
         std::any_of(graph.operators.begin(), graph.operators.end(),
                     [&](const auto& op) { return needs_version_6(*op, graph); }) ||
         std::any_of(graph.graphs.begin(), graph.graphs.end(), [](const auto& g) { return needs_version_6(*g); });
}

}  // namespace

uint32_t format_version(const fbs::GraphT& graph) {
  if (needs_version_6(graph)) return 6;
  if (needs_version_5(graph)) return 5;
  return needs_version_4(graph) ? 4 : needs_version_3(graph) ? 3 : needs_version_2(graph) ? 2 : 1;
}

}  // namespace ferry
