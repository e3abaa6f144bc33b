#include "converter/onnx/patterns/patterns.h"

#include "converter/onnx/patterns/graph_matcher.h"
#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

struct Pattern {
  const char* name;
  void (*in_nodes)(Matcher&);
  void (*in_graph)(GraphMatcher&);
};

constexpr Pattern kPatterns[] = {
    {"gelu", recognise_gelu, nullptr},
    {"gelu_tanh", recognise_gelu_tanh, nullptr},
    {"silu", recognise_silu, nullptr},
    {"hard_swish", recognise_hard_swish, nullptr},
    {"layer_norm", recognise_layer_norm, nullptr},
    {"rms_norm", recognise_rms_norm, nullptr},
    {"group_norm", recognise_group_norm, nullptr},
    {"attention", recognise_attention, nullptr},
    {"quantize_dequantize", recognise_quantize_dequantize, nullptr},
    {"dynamic_quantization", recognise_dynamic_quantization, nullptr},
    {"paste_masks", recognise_paste_masks, nullptr},
    {"heatmaps", recognise_heatmaps, nullptr},
    {"scatter_rows", recognise_scatter_rows, nullptr},
    {"batched_attention", nullptr, recognise_batched_attention},
    {"rotary_embedding", nullptr, recognise_rotary_embedding},
    {"pixel_shuffle", nullptr, recognise_pixel_shuffle},
    {"windows", nullptr, recognise_windows},
};

bool enabled(const Pattern& pattern, const std::set<std::string>& disabled) {
  return !disabled.contains("all") && !disabled.contains(pattern.name);
}

}  // namespace

std::vector<Node> apply_patterns(const Model& model, const std::set<std::string>& disabled) {
  std::string names = "all";
  for (const Pattern& pattern : kPatterns) names += std::string(", ") + pattern.name;
  for (const std::string& name : disabled)
    if ((", " + names + ", ").find(", " + name + ", ") == std::string::npos)
      fail("no pattern is called '%s': %s", name.c_str(), names.c_str());
  Matcher matcher(model);
  for (const Pattern& pattern : kPatterns)
    if (pattern.in_nodes && enabled(pattern, disabled)) pattern.in_nodes(matcher);
  return matcher.finish();
}

void apply_patterns(Graph& graph, const std::set<std::string>& disabled) {
  GraphMatcher matcher(graph);
  for (const Pattern& pattern : kPatterns) {
    if (!pattern.in_graph || !enabled(pattern, disabled)) continue;
    pattern.in_graph(matcher);
    matcher.finish();
  }
}

}  // namespace ferry::onnx
