// An activation that is quantized and dequantized with the same scale and zero point, as in networks trained for 8
// bits: the integers in between are not needed.
#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

bool same(const Matcher& m, const Node& a, const Node& b, size_t input) {
  const bool in_a = input < a.inputs.size(), in_b = input < b.inputs.size();
  if (!in_a || !in_b) return in_a == in_b;
  if (m.origin(a.inputs[input]) == m.origin(b.inputs[input])) return true;
  const Array *x = m.constant(a.inputs[input]), *y = m.constant(b.inputs[input]);
  return x && y && x->type == y->type && x->dims == y->dims && x->floats() == y->floats();
}

// Without blocks, a result type other than the zero point's, and similar options.
bool plain(const Node& node) {
  for (const auto& [name, value] : node.attributes)
    if (name != "axis" && name != "saturate") return false;
  return true;
}

int64_t axis_of(const Node& node) {
  const auto axis = node.attributes.find("axis");
  return axis == node.attributes.end() ? 1 : axis->second.ints.front();
}

}  // namespace

void recognise_quantize_dequantize(Matcher& m) {
  for (size_t i = 0; i < m.nodes().size(); ++i) {
    const Node& back = m.nodes()[i];
    if (!is(back, "DequantizeLinear")) continue;
    const Node* there = m.producer(back.inputs[0], "QuantizeLinear");
    // Weights are excluded: the converter folds them.
    if (!there || m.constant(there->inputs[0]) || !same(m, *there, back, 1) || !same(m, *there, back, 2) ||
        !plain(*there) || !plain(back) || axis_of(*there) != axis_of(back))
      continue;
    std::map<std::string, Attribute> attributes = there->attributes;
    m.replace(&back, "QuantizeDequantize", std::vector<std::string>(there->inputs), std::move(attributes));
  }
}

}  // namespace ferry::onnx
