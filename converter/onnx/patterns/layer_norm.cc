// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * weight + bias over the last dimension, as exporters write it that
// have no LayerNormalization (opsets below 17).
#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

bool over_last(const Matcher& m, const Node& mean) {
  const auto attribute = mean.attributes.find("axes");
  if (attribute != mean.attributes.end()) return attribute->second.ints == std::vector<int64_t>{-1};
  const Array* axes = mean.inputs.size() > 1 ? m.constant(mean.inputs[1]) : nullptr;
  return axes && !is_float(axes->type) && axes->ints() == std::vector<int64_t>{-1};
}

// The value whose square `value` is; null where it is none.
const std::string* squared(const Matcher& m, const std::string& value) {
  if (const Node* pow = m.producer(value, "Pow")) return m.number(pow->inputs[1]) == 2.0 ? &pow->inputs[0] : nullptr;
  const Node* mul = m.producer(value, "Mul");
  return mul && m.origin(mul->inputs[0]) == m.origin(mul->inputs[1]) ? &mul->inputs[0] : nullptr;
}

}  // namespace

void recognise_layer_norm(Matcher& m) {
  for (size_t i = 0; i < m.nodes().size(); ++i) {
    const Node& div = m.nodes()[i];
    if (!is(div, "Div")) continue;
    const Node* sub = m.producer(div.inputs[0], "Sub");
    const Node* root = m.producer(div.inputs[1], "Sqrt");
    const Node* sum = root ? m.producer(root->inputs[0], "Add") : nullptr;
    const Node* variance = nullptr;
    std::optional<double> epsilon;
    for (size_t k = 0; sum && k < 2 && !variance; ++k) {
      epsilon = m.number(sum->inputs[k]);
      if (epsilon) variance = m.producer(sum->inputs[1 - k], "ReduceMean");
    }
    const Node* mean = sub ? m.producer(sub->inputs[1], "ReduceMean") : nullptr;
    if (!variance || !mean || !over_last(m, *variance) || !over_last(m, *mean)) continue;
    const std::string x = m.origin(sub->inputs[0]);
    const std::string* deviation = squared(m, variance->inputs[0]);
    const Node* centred = deviation ? m.producer(*deviation, "Sub") : nullptr;
    if (!centred || m.origin(mean->inputs[0]) != x || m.origin(centred->inputs[0]) != x ||
        !m.producer(centred->inputs[1], "ReduceMean"))
      continue;
    const Node* mul = m.only_reader(div.outputs.front(), "Mul");
    const Node* add = mul ? m.only_reader(mul->outputs.front(), "Add") : nullptr;
    const std::string* weight = mul ? m.other_input(*mul, div.outputs.front()) : nullptr;
    const std::string* bias = add ? m.other_input(*add, mul->outputs.front()) : nullptr;
    if (!weight || !bias || !m.constant(*weight) || !m.constant(*bias)) continue;
    if (m.constant(*weight)->dims.size() != 1 || m.constant(*bias)->dims != m.constant(*weight)->dims) continue;
    m.replace(add, "LayerNorm", {x, m.origin(*weight), m.origin(*bias)}, {{"epsilon", number_attribute(*epsilon)}});
  }
}

}  // namespace ferry::onnx
