// x / 2 * (1 + erf(x / sqrt 2)), with the factors in any order.
#include <cmath>

#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

// `sum` is 1 + erf(...) or 1 + tanh(...). Returns the last node of x * sum * 0.5; null if it does not match.
const Node* end_of_product(const Matcher& m, const Node& sum, const std::string& x) {
  const Node* first = m.only_reader(sum.outputs.front(), "Mul");
  if (!first) return nullptr;
  const std::string* factor = m.other_input(*first, sum.outputs.front());
  if (!factor) return nullptr;
  if (const Node* half = m.producer(*factor, "Mul")) {
    const std::string* half_factor = m.other_input(*half, x);
    if (half_factor && m.number(*half_factor) == 0.5) return first;
  }
  const bool by_x = m.origin(*factor) == x;
  if (!by_x && m.number(*factor) != 0.5) return nullptr;
  const Node* second = m.only_reader(first->outputs.front(), "Mul");
  if (!second) return nullptr;
  const std::string* rest = m.other_input(*second, first->outputs.front());
  if (!rest || (by_x ? m.number(*rest) != 0.5 : m.origin(*rest) != x)) return nullptr;
  return second;
}

const Node* one_plus(const Matcher& m, const Node& function) {
  const Node* sum = m.only_reader(function.outputs.front(), "Add");
  if (!sum) return nullptr;
  const std::string* one = m.other_input(*sum, function.outputs.front());
  return one && m.number(*one) == 1.0 ? sum : nullptr;
}

// The x of x / sqrt(2) in its variants; null if `value` is something else.
const std::string* over_root_two(const Matcher& m, const std::string& value) {
  const double root = std::sqrt(2.0);
  if (const Node* div = m.producer(value, "Div"))
    return m.number(div->inputs[1]) && close(*m.number(div->inputs[1]), root) ? &div->inputs[0] : nullptr;
  const Node* mul = m.producer(value, "Mul");
  for (size_t i = 0; mul && i < 2; ++i)
    if (m.number(mul->inputs[i]) && close(*m.number(mul->inputs[i]), 1 / root)) return &mul->inputs[1 - i];
  return nullptr;
}

// The x of sqrt(2 / pi) * (x + 0.044715 x^3).
const std::string* tanh_argument(const Matcher& m, const std::string& value) {
  const Node* mul = m.producer(value, "Mul");
  for (size_t i = 0; mul && i < 2; ++i) {
    const std::optional<double> factor = m.number(mul->inputs[i]);
    const Node* sum = m.producer(mul->inputs[1 - i], "Add");
    if (!factor || !close(*factor, std::sqrt(2 / std::acos(-1.0))) || !sum) continue;
    for (size_t k = 0; k < 2; ++k) {
      const std::string& x = m.origin(sum->inputs[k]);
      const Node* cubic = m.producer(sum->inputs[1 - k], "Mul");
      for (size_t j = 0; cubic && j < 2; ++j) {
        const std::optional<double> share = m.number(cubic->inputs[j]);
        const Node* cube = m.producer(cubic->inputs[1 - j], "Pow");
        if (share && close(*share, 0.044715) && cube && m.origin(cube->inputs[0]) == x &&
            m.number(cube->inputs[1]) == 3.0)
          return &x;
      }
    }
  }
  return nullptr;
}

void recognise(Matcher& m, const char* function, const std::string* (*argument)(const Matcher&, const std::string&),
               const char* op) {
  for (size_t i = 0; i < m.nodes().size(); ++i) {
    const Node& node = m.nodes()[i];
    if (!is(node, function)) continue;
    const std::string* found = argument(m, node.inputs.front());
    const Node* sum = one_plus(m, node);
    if (!found || !sum) continue;
    const std::string x = m.origin(*found);
    if (const Node* last = end_of_product(m, *sum, x)) m.replace(last, op, {x});
  }
}

}  // namespace

void recognise_gelu(Matcher& matcher) { recognise(matcher, "Erf", over_root_two, "Gelu"); }
void recognise_gelu_tanh(Matcher& matcher) { recognise(matcher, "Tanh", tanh_argument, "GeluTanh"); }

}  // namespace ferry::onnx
