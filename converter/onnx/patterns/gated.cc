// x * sigmoid(x) and x * hard_sigmoid(x).
#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

// clamp(x + 3, 0, 6) / 6, expressed as HardSigmoid.
bool is_hard_sigmoid(const Node& node) {
  const auto alpha = node.attributes.find("alpha"), beta = node.attributes.find("beta");
  return alpha != node.attributes.end() && alpha->second.floats.size() == 1 &&
         close(alpha->second.floats[0], 1.0 / 6) &&
         (beta == node.attributes.end() || beta->second.floats == std::vector<double>{0.5});
}

void recognise(Matcher& m, const char* gate, const char* op) {
  for (size_t i = 0; i < m.nodes().size(); ++i) {
    const Node& node = m.nodes()[i];
    if (!is(node, gate) || (node.op == "HardSigmoid" && !is_hard_sigmoid(node))) continue;
    const Node* product = m.only_reader(node.outputs.front(), "Mul");
    const std::string* x = product ? m.other_input(*product, node.outputs.front()) : nullptr;
    if (x && m.origin(*x) == m.origin(node.inputs.front())) m.replace(product, op, {std::string(*x)});
  }
}

}  // namespace

void recognise_silu(Matcher& matcher) { recognise(matcher, "Sigmoid", "Silu"); }
void recognise_hard_swish(Matcher& matcher) { recognise(matcher, "HardSigmoid", "HardSwish"); }

}  // namespace ferry::onnx
