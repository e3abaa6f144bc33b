// GroupNorm of exporters without GroupNormalization: an InstanceNorm over groups as channels, followed by a weight and
// bias per channel.
#include <algorithm>

#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

bool all(const Array* constant, double value) {
  if (!constant) return false;
  const std::vector<double> values = constant->floats();
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == value; });
}

// [C,1,...]: one value per channel.
bool per_channel(const Array* constant) {
  return constant && constant->dims.size() > 1 && constant->dims[0] == constant->elements();
}

}  // namespace

void recognise_group_norm(Matcher& m) {
  for (size_t i = 0; i < m.nodes().size(); ++i) {
    const Node& norm = m.nodes()[i];
    if (!is(norm, "InstanceNormalization") || norm.inputs.size() != 3) continue;
    const Node* split = m.producer(norm.inputs[0], "Reshape");
    const Array* groups = split && split->inputs.size() == 2 ? m.constant(split->inputs[1]) : nullptr;
    if (!groups || is_float(groups->type) || !all(m.constant(norm.inputs[1]), 1) || !all(m.constant(norm.inputs[2]), 0))
      continue;
    const std::vector<int64_t> shape = groups->ints();
    if (shape.size() != 3 || shape[0] != 0 || shape[1] < 1 || shape[2] != -1) continue;
    const Node* join = m.only_reader(norm.outputs.front(), "Reshape");
    const Node* mul = join ? m.only_reader(join->outputs.front(), "Mul") : nullptr;
    const Node* add = mul ? m.only_reader(mul->outputs.front(), "Add") : nullptr;
    const std::string* weight = mul ? m.other_input(*mul, join->outputs.front()) : nullptr;
    const std::string* bias = add ? m.other_input(*add, mul->outputs.front()) : nullptr;
    if (!weight || !bias || !per_channel(m.constant(*weight)) || !per_channel(m.constant(*bias))) continue;
    const auto epsilon = norm.attributes.find("epsilon");
    m.replace(add, "GroupNorm", {split->inputs[0], m.origin(*weight), m.origin(*bias), join->inputs[1]},
              {{"groups", number_attribute(static_cast<double>(shape[1]))},
               {"epsilon", epsilon == norm.attributes.end() ? number_attribute(1e-5) : epsilon->second}});
  }
}

}  // namespace ferry::onnx
