// Normalization over the last dimension: LayerNorm, (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * weight + bias, of
// exporters without LayerNormalization (opsets below 17), and RMSNorm, x / sqrt(mean(x^2) + epsilon) * weight.
#include <algorithm>
#include <array>

#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

bool over_last(const Matcher& m, const Node& mean) {
  const auto attribute = mean.attributes.find("axes");
  if (attribute != mean.attributes.end()) return attribute->second.ints == std::vector<int64_t>{-1};
  const Array* axes = mean.inputs.size() > 1 ? m.constant(mean.inputs[1]) : nullptr;
  return axes && !is_float(axes->type) && axes->ints() == std::vector<int64_t>{-1};
}

// The value whose square is `value`; null if it is not a square.
const std::string* squared(const Matcher& m, const std::string& value) {
  if (const Node* pow = m.producer(value, "Pow")) return m.number(pow->inputs[1]) == 2.0 ? &pow->inputs[0] : nullptr;
  const Node* mul = m.producer(value, "Mul");
  return mul && m.origin(mul->inputs[0]) == m.origin(mul->inputs[1]) ? &mul->inputs[0] : nullptr;
}

// sqrt(mean + epsilon), with the mean over the last dimension.
struct Root {
  const Node* mean = nullptr;  // null if it does not match
  double epsilon = 0;
};

Root read_sum(const Matcher& m, const std::string& value) {
  const Node* sum = m.producer(value, "Add");
  for (size_t k = 0; sum && k < 2; ++k) {
    const std::optional<double> epsilon = m.number(sum->inputs[k]);
    const Node* mean = epsilon ? m.producer(sum->inputs[1 - k], "ReduceMean") : nullptr;
    if (mean && over_last(m, *mean)) return {mean, *epsilon};
  }
  return {};
}

Root read_root(const Matcher& m, const std::string& value) {
  const Node* root = m.producer(value, "Sqrt");
  if (!root) root = m.producer(value, "Pow");
  if (!root || (root->op == "Pow" && m.number(root->inputs[1]) != 0.5)) return {};
  return read_sum(m, root->inputs[0]);
}

// The same for 1 / sqrt(mean + epsilon), in its three forms.
Root read_inverse_root(const Matcher& m, const std::string& value) {
  if (const Node* node = m.producer(value, "Reciprocal")) return read_root(m, node->inputs[0]);
  if (const Node* node = m.producer(value, "Div"))
    return m.number(node->inputs[0]) == 1.0 ? read_root(m, node->inputs[1]) : Root();
  const Node* pow = m.producer(value, "Pow");
  return pow && m.number(pow->inputs[1]) == -0.5 ? read_sum(m, pow->inputs[0]) : Root();
}

// float16 networks normalize in float32; Ferry computes all of them in float32.
bool to_float(const Node& node) {
  if (!is(node, "Cast")) return false;
  const auto to = node.attributes.find("to");
  constexpr std::array<int64_t, 4> kFloats = {1, 10, 11, 16};  // TensorProto's FLOAT, FLOAT16, DOUBLE, BFLOAT16
  return to != node.attributes.end() && to->second.ints.size() == 1 &&
         std::find(kFloats.begin(), kFloats.end(), to->second.ints[0]) != kFloats.end();
}

const std::string& before_casts(const Matcher& m, const std::string& value) {
  const std::string* at = &m.origin(value);
  for (const Node* node = m.producer(*at); node && to_float(*node); node = m.producer(*at))
    at = &m.origin(node->inputs[0]);
  return *at;
}

}  // namespace

void recognise_layer_norm(Matcher& m) {
  for (size_t i = 0; i < m.nodes().size(); ++i) {
    const Node& div = m.nodes()[i];
    if (!is(div, "Div")) continue;
    const Node* sub = m.producer(div.inputs[0], "Sub");
    const Root root = read_root(m, div.inputs[1]);
    const Node* mean = sub ? m.producer(sub->inputs[1], "ReduceMean") : nullptr;
    if (!root.mean || !mean || !over_last(m, *mean)) continue;
    const std::string x = m.origin(sub->inputs[0]);
    const std::string* deviation = squared(m, root.mean->inputs[0]);
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
    m.replace(add, "LayerNorm", {x, m.origin(*weight), m.origin(*bias)}, {{"epsilon", number_attribute(root.epsilon)}});
  }
}

void recognise_rms_norm(Matcher& m) {
  for (size_t i = 0; i < m.nodes().size(); ++i) {
    const Node& quotient = m.nodes()[i];
    if (!is(quotient, "Div") && !is(quotient, "Mul")) continue;
    size_t other = 0;  // the input that is not the root
    Root root = quotient.op == "Div" ? read_root(m, quotient.inputs[1]) : read_inverse_root(m, quotient.inputs[1]);
    if (!root.mean && quotient.op == "Mul") root = read_inverse_root(m, quotient.inputs[other++]);
    const std::string* x = root.mean ? squared(m, root.mean->inputs[0]) : nullptr;
    if (!x || before_casts(m, *x) != before_casts(m, quotient.inputs[other])) continue;
    // The weight, if there is one, comes last.
    const Node* last = &quotient;
    while (const Node* cast = m.only_reader(last->outputs.front(), "Cast")) {
      if (!to_float(*cast)) break;
      last = cast;
    }
    const Node* mul = m.only_reader(last->outputs.front(), "Mul");
    const std::string* weight = mul ? m.other_input(*mul, last->outputs.front()) : nullptr;
    if (!weight || !m.constant(*weight) || m.constant(*weight)->dims.size() != 1) weight = nullptr;
    m.replace(weight ? mul : &quotient, "RmsNorm", {m.origin(*x), weight ? m.origin(*weight) : ""},
              {{"epsilon", number_attribute(root.epsilon)}});
  }
}

}  // namespace ferry::onnx
