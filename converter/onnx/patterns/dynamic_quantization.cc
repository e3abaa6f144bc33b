// Layers whose activations each run rounds to 8 bits over their range, as ONNX Runtime's dynamic quantization writes
// them: (float)MatMulInteger(x quantised, weight) * (scale of x * scale of the weight), and the same of ConvInteger and
// of the fused operators. They become operators on real values; keep_integer_weights() then stores the integers.
#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

// The value whose rounding DynamicQuantizeLinear outputs as `integers`, `scale` and `zero_point`; null if it is none.
const std::string* rounded_value(const Matcher& m, const std::string& integers, const std::string& scale,
                                 const std::string& zero_point) {
  const Node* node = m.producer(integers, "DynamicQuantizeLinear");
  if (!node || node->outputs.size() != 3 || m.origin(integers) != node->outputs[0] ||
      m.origin(scale) != node->outputs[1] || m.origin(zero_point) != node->outputs[2])
    return nullptr;
  return &node->inputs[0];
}

std::string input_of(const Node& node, size_t i) { return i < node.inputs.size() ? node.inputs[i] : std::string(); }

bool is_constant(const Matcher& m, const std::string& value) { return value.empty() || m.constant(value) != nullptr; }

bool is_weight(const Matcher& m, const std::string& weight, const std::string& scale, const std::string& zero_point) {
  return m.constant(weight) && m.constant(scale) && is_constant(m, zero_point);
}

void replace_product(Matcher& m, const Node& product) {
  const bool convolution = is(product, "ConvInteger");
  if (product.inputs.size() < 3) return;
  const Node* real = m.only_reader(product.outputs.front(), "Cast");
  const Node* last = real ? m.only_reader(real->outputs.front(), "Mul") : nullptr;
  const std::string* scales = last ? m.other_input(*last, real->outputs.front()) : nullptr;
  const Node* both = scales ? m.producer(*scales, "Mul") : nullptr;
  if (!both) return;
  const std::string weight = product.inputs[1], zero_point = input_of(product, 3);
  for (const size_t i : {0, 1}) {
    const std::string *x = rounded_value(m, product.inputs[0], both->inputs[i], product.inputs[2]),
                      scale = both->inputs[1 - i];
    if (!x || !is_weight(m, weight, scale, zero_point)) continue;
    const Array &w = *m.constant(weight), &s = *m.constant(scale);
    if (convolution ? s.elements() != 1 : w.dims.size() != 2) continue;
    auto attributes = product.attributes;
    return m.replace(last, convolution ? "DynamicConv" : "DynamicProduct", {*x, weight, scale, zero_point},
                     std::move(attributes));
  }
}

bool is_microsoft(const Node& node, std::string_view op, size_t inputs) {
  return node.op == op && node.domain == "com.microsoft" && node.problem.empty() && node.inputs.size() >= inputs;
}

void replace_fused(Matcher& m, const Node& node) {
  std::vector<std::string> inputs;
  if (is_microsoft(node, "DynamicQuantizeMatMul", 3)) {
    inputs = {node.inputs[0], node.inputs[1], node.inputs[2], input_of(node, 3), input_of(node, 4)};
  } else if (is_microsoft(node, "MatMulIntegerToFloat", 5)) {
    const std::string* x = rounded_value(m, node.inputs[0], node.inputs[2], node.inputs[4]);
    if (!x) return;
    inputs = {*x, node.inputs[1], node.inputs[3], input_of(node, 5), input_of(node, 6)};
  } else {
    return;
  }
  if (is_weight(m, inputs[1], inputs[2], inputs[3]) && m.constant(inputs[1])->dims.size() == 2)
    m.replace(&node, "DynamicProduct", std::move(inputs));
}

// Rows of a quantised table, as of embeddings.
void replace_rows(Matcher& m, const Node& back) {
  const Node* rows = m.producer(back.inputs[0], "Gather");
  if (!rows || back.inputs.size() < 2 || !is_weight(m, rows->inputs[0], back.inputs[1], input_of(back, 2))) return;
  if (m.constant(back.inputs[1])->elements() != 1) return;
  auto attributes = rows->attributes;
  m.replace(&back, "DequantizedRows", {rows->inputs[0], rows->inputs[1], back.inputs[1], input_of(back, 2)},
            std::move(attributes));
}

}  // namespace

void recognise_dynamic_quantization(Matcher& m) {
  for (size_t i = 0; i < m.nodes().size(); ++i) {
    const Node& node = m.nodes()[i];
    if (is(node, "MatMulInteger") || is(node, "ConvInteger")) replace_product(m, node);
    if (is(node, "DequantizeLinear")) replace_rows(m, node);
    replace_fused(m, node);
  }
}

}  // namespace ferry::onnx
