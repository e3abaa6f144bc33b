// softmax(scale * q k^T + biases) v: two matrix products with a softmax between them. The scores may have factors,
// additive terms and positions filled with -infinity; queries and keys may have factors of their own. Window attention
// (Swin) adds its mask to scores that a reshape groups by window.
#include <algorithm>

#include "converter/onnx/patterns/matcher.h"

namespace ferry::onnx {
namespace {

struct Scores {
  const Node* product = nullptr;  // q k^T
  double scale = 1;
  std::vector<std::string> biases;  // terms added to the scaled scores
  std::string group_shape, mask;    // shape of the scores when the mask is added, and the mask
  std::string query, key;
  std::vector<const Node*> filled;  // Where nodes; each becomes a bias
};

// Removes constant factors from a value and multiplies them into `scale`.
std::string unscaled(const Matcher& m, std::string value, double* scale) {
  while (const Node* node = m.producer(value)) {
    if (!(is(*node, "Mul") || is(*node, "Div")) || node->inputs.size() != 2) break;
    const std::optional<double> first = m.number(node->inputs[0]), second = m.number(node->inputs[1]);
    if (node->op == "Div" ? !second : !first && !second) break;
    *scale = node->op == "Div" ? *scale / *second : *scale * (second ? *second : *first);
    value = node->inputs[second ? 0 : 1];
  }
  return value;
}

// The input of a Where with the scores, if the other one is effectively -infinity.
std::optional<size_t> filled_side(const Matcher& m, const Node& where) {
  for (const size_t side : {1, 2})
    if (const auto fill = m.number(where.inputs[side]); fill && *fill <= -1e30) return 3 - side;
  return {};
}

// Matches from the softmax upwards. Returns false for an unsupported node.
bool read_scores(const Matcher& m, std::string value, Scores* scores) {
  bool grouped = false;
  for (int steps = 0; steps < 8; ++steps) {
    const Node* node = m.producer(value);
    if (!node || !is(*node, node->op)) return false;
    if (node->op == "Where" && node->inputs.size() == 3 && !grouped && scores->scale == 1) {
      const auto side = filled_side(m, *node);
      if (!side) return false;
      scores->filled.push_back(node);
      value = node->inputs[*side];
      continue;
    }
    if (node->inputs.size() != 2) return false;
    if (node->op == "MatMul") {
      scores->product = node;
      scores->query = unscaled(m, node->inputs[0], &scores->scale);
      scores->key = unscaled(m, node->inputs[1], &scores->scale);
      return !grouped;
    }
    if (node->op == "Reshape") {
      // The reshape out of the groups, or further up, into them.
      if (!scores->mask.empty()) scores->group_shape = node->inputs[1];
      grouped = !grouped;
      if (!grouped && scores->group_shape.empty()) return false;
      value = node->inputs[0];
      continue;
    }
    const std::optional<double> first = m.number(node->inputs[0]), second = m.number(node->inputs[1]);
    if (node->op == "Div" && second && !grouped) {
      scores->scale /= *second;
      value = node->inputs[0];
    } else if (node->op == "Mul" && (first || second) && !grouped) {
      scores->scale *= second ? *second : *first;
      value = node->inputs[second ? 0 : 1];
    } else if (node->op == "Add" && scores->scale == 1) {
      // The input that leads to a product is the scores.
      const bool left = m.producer(node->inputs[0], "MatMul") || m.producer(node->inputs[0], "Div") ||
                        m.producer(node->inputs[0], "Mul") || m.producer(node->inputs[0], "Add") ||
                        m.producer(node->inputs[0], "Where") || m.producer(node->inputs[0], "Reshape");
      const std::string& bias = node->inputs[left ? 1 : 0];
      if (grouped && !scores->mask.empty()) return false;
      if (grouped)
        scores->mask = bias;
      else
        scores->biases.push_back(bias);
      value = node->inputs[left ? 0 : 1];
    } else {
      return false;
    }
  }
  return false;
}

bool over_last(const Node& softmax) {
  const auto axis = softmax.attributes.find("axis");
  if (axis == softmax.attributes.end()) return softmax.opset >= 13;
  return axis->second.ints == std::vector<int64_t>{-1} || axis->second.ints == std::vector<int64_t>{3};
}

}  // namespace

void recognise_attention(Matcher& m) {
  for (size_t i = 0; i < m.nodes().size(); ++i) {
    const Node& softmax = m.nodes()[i];
    if (!is(softmax, "Softmax") || !over_last(softmax)) continue;
    const Node* last = m.only_reader(softmax.outputs.front(), "MatMul");
    if (!last || m.origin(last->inputs[0]) != softmax.outputs.front()) continue;
    Scores scores;
    if (!read_scores(m, softmax.inputs[0], &scores)) continue;
    // The Where becomes a bias, so its output must have no other reader.
    const auto only_here = [&](const Node* where) {
      return m.only_reader(where->outputs.front(), "Softmax") || m.only_reader(where->outputs.front(), "Where") ||
             m.only_reader(where->outputs.front(), "Add") || m.only_reader(where->outputs.front(), "Cast");
    };
    if (!std::all_of(scores.filled.begin(), scores.filled.end(), only_here)) continue;
    std::vector<std::string> inputs = {scores.query, scores.key, last->inputs[1], scores.mask, scores.group_shape};
    inputs.insert(inputs.end(), scores.biases.begin(), scores.biases.end());
    for (const Node* where : scores.filled) {
      inputs.push_back(where->outputs.front());
      const bool when = filled_side(m, *where) == 2;  // filled where the condition is true
      m.replace(where, "FilledPlaces", {where->inputs[0]}, {{"when", number_attribute(when)}});
    }
    m.replace(last, "Attention", std::move(inputs), {{"scale", number_attribute(scores.scale)}});
  }
}

}  // namespace ferry::onnx
