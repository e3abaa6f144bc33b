#include "converter/onnx/expanded_attention.h"

#include <algorithm>

namespace ferry::onnx {
namespace {

// Inputs of the node.
struct In {
  enum : size_t { Query, Key, Value, Mask, PastKey, PastValue };
};

bool has(const Node& node, size_t input) { return input < node.inputs.size() && !node.inputs[input].empty(); }

bool can_expand(const Node& node) {
  if (node.op != "Attention" || !node.domain.empty() || node.inputs.size() > 6 || !has(node, In::Query) ||
      !has(node, In::Key) || !has(node, In::Value) || has(node, In::PastKey) != has(node, In::PastValue) ||
      node.outputs.empty())
    return false;
  if (node.outputs.size() > 3 || (node.outputs.size() == 3) != has(node, In::PastKey)) return false;
  const auto is_absent = [&](const char* name) {
    const auto found = node.attributes.find(name);
    if (found == node.attributes.end()) return true;
    const auto zero = [](auto v) { return v == 0; };
    const Attribute& value = found->second;
    return std::all_of(value.ints.begin(), value.ints.end(), zero) &&
           std::all_of(value.floats.begin(), value.floats.end(), zero);
  };
  return is_absent("is_causal") && is_absent("softcap") && is_absent("q_num_heads") && is_absent("kv_num_heads");
}

class Expander {
 public:
  Expander(const Node& node, Model* model, std::vector<Node>* nodes) : node_(node), model_(*model), nodes_(*nodes) {}

  void expand() {
    const std::string query = node_.inputs[In::Query], sizes = add("Shape", {query});
    const std::string keys = with_past(In::Key, In::PastKey), values = with_past(In::Value, In::PastValue);
    const std::string turned = add("Transpose", {repeated(keys, sizes)}, {{"perm", integers({0, 1, 3, 2})}});
    std::string scores = add("MatMul", {query, turned});
    const auto scale = node_.attributes.find("scale");
    if (scale != node_.attributes.end() && scale->second.floats.size() == 1) {
      scores = add("Mul", {scores, constant(make_array(Type::Float32, {}, scale->second.floats))});
    } else {
      const std::string channels = add("Cast", {part(sizes, {3})}, {{"to", integers({1}, Attribute::Kind::Int)}});
      scores = add("Div", {scores, add("Sqrt", {channels})});
    }
    if (has(node_, In::Mask)) {
      const std::string bias =
          add("MaskBias", {node_.inputs[In::Mask]}, {{"when", {.kind = Attribute::Kind::Float, .floats = {0}}}});
      nodes_.back().domain = "ferry";
      scores = add("Add", {scores, bias});
    }
    const std::string weights = add("Softmax", {scores}, {{"axis", integers({-1}, Attribute::Kind::Int)}});
    add("MatMul", {weights, repeated(values, sizes)}, {}, node_.outputs[0]);
  }

 private:
  static Attribute integers(std::vector<int64_t> values, Attribute::Kind kind = Attribute::Kind::Ints) {
    return {.kind = kind, .ints = std::move(values)};
  }

  std::string constant(Array array) {
    const std::string name = node_.outputs[0] + ".constant" + std::to_string(count_++);
    model_.constants[name] = std::move(array);
    return name;
  }

  std::string add(const char* op, std::vector<std::string> inputs, std::map<std::string, Attribute> attributes = {},
                  const std::string& output = "") {
    Node& node = nodes_.emplace_back();
    node.op = op;
    node.opset = node_.opset;
    node.name = node_.name;
    node.inputs = std::move(inputs);
    node.outputs = {output.empty() ? node_.outputs[0] + "." + op + std::to_string(count_++) : output};
    node.attributes = std::move(attributes);
    return node.outputs[0];
  }

  std::string part(const std::string& sizes, const std::vector<int64_t>& indices) {
    return add("Gather", {sizes, constant(make_vector(indices))});
  }

  std::string concat(std::vector<std::string> parts, int64_t axis, const std::string& output = "") {
    return add("Concat", std::move(parts), {{"axis", integers({axis}, Attribute::Kind::Int)}}, output);
  }

  std::string with_past(size_t fresh, size_t past) {
    if (!has(node_, past)) return node_.inputs[fresh];
    return concat({node_.inputs[past], node_.inputs[fresh]}, 2, node_.outputs[fresh]);
  }

  // Keys or values [B,G,T,D], each head for all query heads that share it: [B,H,T,D].
  std::string repeated(const std::string& x, const std::string& query_sizes) {
    const std::string sizes = add("Shape", {x}), one = constant(make_vector({1, 1}));
    const std::string groups = add("Div", {part(query_sizes, {1}), part(sizes, {1})});
    const std::string apart = add("Unsqueeze", {x, constant(make_vector({2}))});
    const std::string expanded = add("Expand", {apart, concat({one, groups, one}, 0)});
    return add("Reshape", {expanded, concat({constant(make_vector({1, -1})), part(sizes, {2, 3})}, 0)});
  }

  const Node& node_;
  Model& model_;
  std::vector<Node>& nodes_;
  int count_ = 0;
};

}  // namespace

void expand_attention(Model* model) {
  if (std::none_of(model->nodes.begin(), model->nodes.end(), can_expand)) return;
  std::vector<Node> nodes;
  for (const Node& node : model->nodes) {
    if (can_expand(node))
      Expander(node, model, &nodes).expand();
    else
      nodes.push_back(node);
  }
  model->nodes = std::move(nodes);
}

}  // namespace ferry::onnx
