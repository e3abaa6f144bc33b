#include "converter/onnx/patterns/patterns.h"

#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {

std::vector<Node> apply_patterns(const Model& model, const std::set<std::string>& disabled) {
  struct Pattern {
    const char* name;
    void (*recognise)(Matcher&);
  };
  constexpr Pattern kPatterns[] = {
      {"gelu", recognise_gelu},
      {"gelu_tanh", recognise_gelu_tanh},
      {"silu", recognise_silu},
      {"hard_swish", recognise_hard_swish},
      {"layer_norm", recognise_layer_norm},
      {"attention", recognise_attention},
  };
  std::string names = "all";
  for (const Pattern& pattern : kPatterns) names += std::string(", ") + pattern.name;
  for (const std::string& name : disabled)
    if ((", " + names + ", ").find(", " + name + ", ") == std::string::npos)
      fail("no recogniser is called '%s': %s", name.c_str(), names.c_str());
  Matcher matcher(model);
  for (const Pattern& pattern : kPatterns)
    if (!disabled.contains("all") && !disabled.contains(pattern.name)) pattern.recognise(matcher);
  return matcher.finish();
}

}  // namespace ferry::onnx
