// Every recogniser finds its pattern, and ignores similar ones.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/onnx/importer.h"
#include "onnx.pb.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using Strings = std::vector<std::string>;

// A graph of x and y, float32 [1,4,8]; the last node's first output is the graph's.
class Net {
 public:
  Net() {
    model_.add_opset_import()->set_version(17);
    for (const char* name : {"x", "y"}) {
      auto* input = graph().add_input();
      input->set_name(name);
      auto* type = input->mutable_type()->mutable_tensor_type();
      type->set_elem_type(::onnx::TensorProto::FLOAT);
      for (const int64_t d : {1, 4, 8}) type->mutable_shape()->add_dim()->set_dim_value(d);
    }
  }

  // An operator with one output, whose name it returns.
  std::string add(const std::string& op, const Strings& inputs) {
    auto* node = graph().add_node();
    node->set_op_type(op);
    for (const std::string& input : inputs) node->add_input(input);
    node->add_output(op + std::to_string(graph().node_size()));
    return node->output(0);
  }
  std::string number(double value) { return constant({}, {value}); }
  std::string constant(const std::vector<int64_t>& dims, const std::vector<double>& values) {
    auto* tensor = graph().add_initializer();
    tensor->set_name("c" + std::to_string(graph().initializer_size()));
    tensor->set_data_type(::onnx::TensorProto::FLOAT);
    for (const int64_t d : dims) tensor->add_dims(d);
    for (const double v : values) tensor->add_float_data(static_cast<float>(v));
    return tensor->name();
  }
  std::string integers(const std::vector<int64_t>& values) {
    auto* tensor = graph().add_initializer();
    tensor->set_name("c" + std::to_string(graph().initializer_size()));
    tensor->set_data_type(::onnx::TensorProto::INT64);
    tensor->add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t v : values) tensor->add_int64_data(v);
    return tensor->name();
  }
  std::string transpose(const std::string& x, const std::vector<int64_t>& perm) {
    const std::string value = add("Transpose", {x});
    auto* attribute_of = attribute("perm", ::onnx::AttributeProto::INTS);
    for (const int64_t p : perm) attribute_of->add_ints(p);
    return value;
  }
  ::onnx::AttributeProto* attribute(const std::string& name, ::onnx::AttributeProto::AttributeType type) {
    auto* a = graph().mutable_node(graph().node_size() - 1)->add_attribute();
    a->set_name(name);
    a->set_type(type);
    return a;
  }
  void add_output(const std::string& value) { graph().add_output()->set_name(value); }

  // The number of imported operators by kind; or the refused operator.
  std::map<std::string, int> imported(const std::set<std::string>& disabled = {}) {
    std::map<std::string, int> ops;
    if (graph().output_size() == 0) add_output(graph().node(graph().node_size() - 1).output(0));
    try {
      const auto path = folder_.write("net.onnx", model_.SerializeAsString());
      const onnx::Imported done = onnx::import_model(onnx::read_model(path), {.disabled_patterns = disabled});
      for (const auto& op : done.graph->table.operators) {
        std::string name = fbs::EnumNameOpParams(op->params.type);
        if (const auto* unary = op->params.AsUnary()) name = fbs::EnumNameUnaryKind(unary->kind);
        ++ops[name];
      }
    } catch (const onnx::Refused& refused) {
      ++ops["refused: " + refused.reasons().front().op];
    }
    return ops;
  }

 private:
  ::onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  ScratchFolder folder_;
  ::onnx::ModelProto model_;
};

using Ops = std::map<std::string, int>;

struct GeluParts {
  double root = std::sqrt(2.0), one = 1, half = 0.5;
  bool read_twice = false, other_x = false;
};

Ops gelu(const GeluParts& parts, const std::set<std::string>& disabled = {}) {
  Net net;
  const std::string erf = net.add("Erf", {net.add("Div", {"x", net.number(parts.root)})});
  const std::string sum = net.add("Add", {erf, net.number(parts.one)});
  const std::string product = net.add("Mul", {parts.other_x ? "y" : "x", sum});
  const std::string last = net.add("Mul", {product, net.number(parts.half)});
  if (parts.read_twice) net.add_output(sum);
  net.add_output(last);
  return net.imported(disabled);
}

TEST(Patterns, Gelu) {
  const Ops found = {{"Gelu", 1}}, left = {{"Erf", 1}, {"Binary", 4}};
  EXPECT_EQ(gelu({}), found);
  EXPECT_EQ(gelu({.root = 1.5}), left);
  EXPECT_EQ(gelu({.one = 2}), left);
  EXPECT_EQ(gelu({.half = 0.6}), left);
  EXPECT_EQ(gelu({.read_twice = true}), left);
  EXPECT_EQ(gelu({.other_x = true}), left);
  EXPECT_EQ(gelu({}, {"gelu"}), left);
  EXPECT_EQ(gelu({}, {"all"}), left);
  EXPECT_EQ(gelu({}, {"silu"}), found);
  EXPECT_THROW(gelu({}, {"gleu"}), Error);
}

Ops gelu_tanh(double share, double exponent) {
  Net net;
  const std::string cube = net.add("Pow", {"x", net.number(exponent)});
  const std::string sum = net.add("Add", {"x", net.add("Mul", {cube, net.number(share)})});
  const std::string tanh = net.add("Tanh", {net.add("Mul", {sum, net.number(std::sqrt(2 / std::acos(-1.0)))})});
  const std::string half = net.add("Mul", {"x", net.number(0.5)});
  net.add("Mul", {half, net.add("Add", {tanh, net.number(1)})});
  return net.imported();
}

TEST(Patterns, GeluTanh) {
  EXPECT_EQ(gelu_tanh(0.044715, 3), (Ops{{"GeluTanh", 1}}));
  EXPECT_EQ(gelu_tanh(0.05, 3).count("GeluTanh"), 0u);
  EXPECT_EQ(gelu_tanh(0.044715, 2).count("GeluTanh"), 0u);
}

TEST(Patterns, Silu) {
  for (const char* factor : {"x", "y"}) {
    Net net;
    net.add("Mul", {net.add("Sigmoid", {"x"}), factor});
    EXPECT_EQ(net.imported(), *factor == 'x' ? (Ops{{"Silu", 1}}) : (Ops{{"Sigmoid", 1}, {"Binary", 1}}));
  }
}

TEST(Patterns, HardSwish) {
  for (const float alpha : {1.0f / 6, 0.2f}) {
    Net net;
    const std::string gate = net.add("HardSigmoid", {"x"});
    net.attribute("alpha", ::onnx::AttributeProto::FLOAT)->set_f(alpha);
    net.add("Mul", {"x", gate});
    EXPECT_EQ(net.imported().count("HardSwish"), alpha < 0.19f ? 1u : 0u) << alpha;
  }
}

Ops layer_norm(int64_t axis, double power, const char* deviation_of) {
  Net net;
  const auto mean = [&](const std::string& of) {
    const std::string value = net.add("ReduceMean", {of});
    net.attribute("axes", ::onnx::AttributeProto::INTS)->add_ints(axis);
    return value;
  };
  const std::string centred = net.add("Sub", {"x", mean("x")}), other = net.add("Sub", {deviation_of, mean("x")});
  const std::string variance = mean(net.add("Pow", {other, net.number(power)}));
  const std::string root = net.add("Sqrt", {net.add("Add", {variance, net.number(1e-6)})});
  const std::vector<double> eight(8, 2.0);
  const std::string scaled = net.add("Mul", {net.add("Div", {centred, root}), net.constant({8}, eight)});
  net.add("Add", {scaled, net.constant({8}, eight)});
  return net.imported();
}

TEST(Patterns, LayerNorm) {
  EXPECT_EQ(layer_norm(-1, 2, "x"), (Ops{{"LayerNorm", 1}}));
  EXPECT_EQ(layer_norm(-2, 2, "x").count("LayerNorm"), 0u);
  EXPECT_EQ(layer_norm(-1, 4, "x").count("LayerNorm"), 0u);
  EXPECT_EQ(layer_norm(-1, 2, "y").count("LayerNorm"), 0u);
}

Ops rms_norm(int64_t axis, double power, const char* square_of) {
  Net net;
  const std::string mean = net.add("ReduceMean", {net.add("Pow", {square_of, net.number(power)})});
  net.attribute("axes", ::onnx::AttributeProto::INTS)->add_ints(axis);
  const std::string root = net.add("Sqrt", {net.add("Add", {net.number(1e-6), mean})});
  net.add("Mul",
          {net.constant({8}, std::vector<double>(8, 2.0)), net.add("Mul", {net.add("Reciprocal", {root}), "x"})});
  return net.imported();
}

TEST(Patterns, RmsNorm) {
  EXPECT_EQ(rms_norm(-1, 2, "x"), (Ops{{"LayerNorm", 1}}));
  EXPECT_EQ(rms_norm(-2, 2, "x").count("LayerNorm"), 0u);
  EXPECT_EQ(rms_norm(-1, 4, "x").count("LayerNorm"), 0u);
  EXPECT_EQ(rms_norm(-1, 2, "y").count("LayerNorm"), 0u);
}

struct AttentionParts {
  int64_t axis = -1;
  bool scores_are_output = false, scaled_by_y = false, scaled_before = false;
};

// softmax(x y^T / 2) y; scaled_before: (x / 2) y^T.
Ops attention(const AttentionParts& parts) {
  Net net;
  const std::string turned = net.add("Transpose", {"y"});
  auto* perm = net.attribute("perm", ::onnx::AttributeProto::INTS);
  for (const int64_t p : {0, 2, 1}) perm->add_ints(p);
  const std::string query = parts.scaled_before ? net.add("Div", {"x", net.number(2)}) : "x";
  const std::string scores = net.add("MatMul", {query, turned});
  const std::string scale = parts.scaled_by_y ? net.add("ReduceMean", {"y"}) : net.number(2);
  const std::string softmax = net.add("Softmax", {net.add("Div", {scores, scale})});
  net.attribute("axis", ::onnx::AttributeProto::INT)->set_i(parts.axis);
  const std::string last = net.add("MatMul", {softmax, "y"});
  if (parts.scores_are_output) net.add_output(softmax);
  net.add_output(last);
  return net.imported();
}

TEST(Patterns, Attention) {
  EXPECT_EQ(attention({}).count("Attention"), 1u);
  EXPECT_EQ(attention({}).count("Softmax"), 0u);
  EXPECT_EQ(attention({.scaled_before = true}), attention({}));
  EXPECT_EQ(attention({.axis = 1}).count("Attention"), 0u);
  EXPECT_EQ(attention({.scores_are_output = true}).count("Attention"), 0u);
  EXPECT_EQ(attention({.scaled_by_y = true}).count("Attention"), 0u);
}

// softmax(x y^T with masked elements) y.
Ops filled_attention(double fill) {
  Net net;
  const std::string scores = net.add("MatMul", {"x", net.transpose("y", {0, 2, 1})});
  const std::string condition = net.add("Less", {net.constant({4}, {1, 2, 3, 4}), net.number(2.5)});
  const std::string filled = net.add("Where", {condition, scores, net.number(fill)});
  net.add("MatMul", {net.add("Softmax", {filled}), "y"});
  return net.imported();
}

TEST(Patterns, AttentionWithMaskedFill) {
  EXPECT_EQ(filled_attention(-INFINITY).count("Attention"), 1u);
  EXPECT_EQ(filled_attention(-5).count("Attention"), 0u);
}

Ops quantized(double second_scale) {
  Net net;
  const std::string whole = net.add("QuantizeLinear", {"x", net.number(0.5)});
  net.add("DequantizeLinear", {whole, net.number(second_scale)});
  return net.imported();
}

TEST(Patterns, QuantizeDequantize) {
  EXPECT_EQ(quantized(0.5).count("Cast"), 0u);
  EXPECT_EQ(quantized(0.25)["Cast"], 2);  // to uint8 and back
}

Ops group_norm(double scale) {
  Net net;
  const std::string groups = net.add("Reshape", {"x", net.integers({0, 2, -1})});
  const std::string norm =
      net.add("InstanceNormalization", {groups, net.constant({2}, {scale, 1}), net.constant({2}, {0, 0})});
  const std::string back = net.add("Reshape", {norm, net.add("Shape", {"x"})});
  const std::string scaled = net.add("Mul", {back, net.constant({4, 1}, {1, 2, 3, 4})});
  net.add("Add", {scaled, net.constant({4, 1}, {1, 2, 3, 4})});
  return net.imported();
}

TEST(Patterns, GroupNorm) {
  EXPECT_EQ(group_norm(1).count("Binary"), 0u);
  EXPECT_EQ(group_norm(2)["Binary"], 2);
}

// x as a map [1,4,4,2] partitioned into 2 x 2 windows after a roll by `shift`.
Ops windows(int64_t shift, const std::vector<int64_t>& perm, const std::set<std::string>& disabled = {}) {
  Net net;
  std::string map = net.add("Reshape", {"x", net.integers({1, 4, 4, 2})});
  const std::string axis = net.integers({1});
  const std::string first = net.add("Slice", {map, net.integers({shift}), net.integers({4}), axis});
  const std::string second = net.add("Slice", {map, net.integers({0}), net.integers({shift}), axis});
  map = net.add("Concat", {first, second});
  net.attribute("axis", ::onnx::AttributeProto::INT)->set_i(1);
  const std::string cells = net.add("Reshape", {map, net.integers({1, 2, 2, 2, 2, 2})});
  net.add("Reshape", {net.transpose(cells, perm), net.integers({4, 4, 2})});
  return net.imported(disabled);
}

TEST(Patterns, Windows) {
  // The passes remove inputs that only a recognised operator read.
  EXPECT_EQ(windows(1, {0, 1, 3, 2, 4, 5}).count("WindowPartition"), 1u);
  EXPECT_EQ(windows(1, {0, 3, 1, 2, 4, 5}).count("WindowPartition"), 0u);
  EXPECT_EQ(windows(1, {0, 1, 3, 2, 4, 5}, {"windows"}).count("WindowPartition"), 0u);
}

// x as [1,2,4,4], rotated in split halves of 2.
Ops rotary(bool first_is_negative) {
  Net net;
  const std::string x = net.add("Reshape", {"x", net.integers({1, 2, 4, 4})});
  const auto half = [&](int64_t begin) {
    return net.add("Slice", {x, net.integers({begin}), net.integers({begin + 2}), net.integers({3})});
  };
  std::string first = half(0), second = half(2);
  (first_is_negative ? first : second) = net.add("Neg", {first_is_negative ? first : second});
  const std::string turned = net.add("Concat", {second, first});
  net.attribute("axis", ::onnx::AttributeProto::INT)->set_i(3);
  const std::vector<double> table(16, 0.5);
  net.add("Add",
          {net.add("Mul", {x, net.constant({4, 4}, table)}), net.add("Mul", {turned, net.constant({4, 4}, table)})});
  return net.imported();
}

TEST(Patterns, RotaryEmbedding) {
  EXPECT_EQ(rotary(false).count("RotaryEmbedding"), 1u);
  EXPECT_EQ(rotary(true).count("RotaryEmbedding"), 0u);
}

Ops pixel_shuffle(const std::vector<int64_t>& perm) {
  Net net;
  const std::string map = net.add("Reshape", {"x", net.integers({1, 8, 2, 2})});
  const std::string cells = net.add("Reshape", {map, net.integers({1, 2, 2, 2, 2, 2})});
  net.add("Reshape", {net.transpose(cells, perm), net.integers({1, 2, 4, 4})});
  return net.imported();
}

TEST(Patterns, PixelShuffle) {
  EXPECT_EQ(pixel_shuffle({0, 1, 4, 2, 5, 3}).count("PixelShuffle"), 1u);
  EXPECT_EQ(pixel_shuffle({0, 1, 4, 3, 5, 2}).count("PixelShuffle"), 0u);
}

}  // namespace
}  // namespace ferry::testing
