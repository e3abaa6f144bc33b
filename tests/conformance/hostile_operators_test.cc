// Nodes that their operator's definition does not allow: one sentence each, no crash, and no result.
#include <gtest/gtest.h>

#include <variant>

#include "converter/onnx/importer.h"
#include "onnx.pb.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using Dims = std::vector<int64_t>;
using Setting = std::variant<int64_t, double, const char*, std::vector<int64_t>, std::vector<double>>;
using Settings = std::vector<std::pair<const char*, Setting>>;

struct Case {
  const char* op;
  std::vector<std::optional<Dims>> inputs;  // nothing: omitted
  Settings settings;
  const char* says;
  const char* domain = "";
  size_t integers = SIZE_MAX;  // the input of int64
};

void set(::onnx::AttributeProto* attribute, const Setting& setting) {
  using Proto = ::onnx::AttributeProto;
  if (const auto* i = std::get_if<int64_t>(&setting)) {
    attribute->set_type(Proto::INT);
    attribute->set_i(*i);
  } else if (const auto* f = std::get_if<double>(&setting)) {
    attribute->set_type(Proto::FLOAT);
    attribute->set_f(static_cast<float>(*f));
  } else if (const auto* s = std::get_if<const char*>(&setting)) {
    attribute->set_type(Proto::STRING);
    attribute->set_s(*s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&setting)) {
    attribute->set_type(Proto::INTS);
    for (const int64_t v : *ints) attribute->add_ints(v);
  } else {
    attribute->set_type(Proto::FLOATS);
    for (const double v : std::get<std::vector<double>>(setting)) attribute->add_floats(static_cast<float>(v));
  }
}

::onnx::ModelProto model_of(const Case& c) {
  ::onnx::ModelProto model;
  model.add_opset_import()->set_version(28);
  auto* contrib = model.add_opset_import();
  contrib->set_domain("com.microsoft");
  contrib->set_version(1);
  ::onnx::GraphProto& graph = *model.mutable_graph();
  ::onnx::NodeProto* node = graph.add_node();
  node->set_op_type(c.op);
  node->set_domain(c.domain);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const std::string name = c.inputs[i] ? "x" + std::to_string(i) : "";
    node->add_input(name);
    if (name.empty()) continue;
    auto* input = graph.add_input();
    input->set_name(name);
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(i == c.integers ? ::onnx::TensorProto::INT64 : ::onnx::TensorProto::FLOAT);
    type->mutable_shape();
    for (const int64_t d : *c.inputs[i]) type->mutable_shape()->add_dim()->set_dim_value(d);
  }
  node->add_output("y");
  for (const auto& [name, setting] : c.settings) {
    ::onnx::AttributeProto* attribute = node->add_attribute();
    attribute->set_name(name);
    set(attribute, setting);
  }
  graph.add_output()->set_name("y");
  return model;
}

// Empty if the file was imported.
std::string sentence_of(const ::onnx::ModelProto& model) {
  const ScratchFolder folder;
  try {
    onnx::import_model(onnx::read_model(folder.write("net.onnx", model.SerializeAsString())), {});
    return "";
  } catch (const onnx::Refused& refused) {
    return refused.reasons().size() == 1 ? refused.reasons().front().what : refused.what();
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_sentences(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const std::string sentence = sentence_of(model_of(c));
    EXPECT_NE(sentence.find(c.says), std::string::npos) << c.op << ": '" << sentence << "' does not say: " << c.says;
    if (c.says[0] == '\0') {
      EXPECT_EQ(sentence, "") << c.op;
    }
  }
}

constexpr int64_t kHuge = INT64_MAX;

TEST(HostileOperators, CausalConvWithState) {
  const char* op = "CausalConvWithState";
  const Dims x = {2, 3, 5}, w = {3, 1, 4};
  expect_sentences({
      {op, {x, w}, {}, ""},
      {op, {}, {}, "input 0 is missing"},
      {op, {x}, {}, "input 1 is missing"},
      {op, {Dims{2, 3}, w}, {}, "an input of [2,3] and a weight of [3,1,4], expected [B,C,L] and [C,1,K]"},
      {op, {x, Dims{3, 2, 4}}, {}, "a weight of [3,2,4]"},
      {op, {x, Dims{4, 1, 4}}, {}, "a weight of [4,1,4]"},
      {op, {x, w, Dims{4}}, {}, "a bias of [4] for 3 channels"},
      {op, {x, w, std::nullopt, Dims{2, 3, 4}}, {}, "a past state of [2,3,4], expected [2,3,3]"},
      {op, {x, w}, {{"activation", "relu"}}, "attribute 'activation' is 'relu', expected none, silu or swish"},
      {op, {x, w}, {{"activation", int64_t{1}}}, "attribute 'activation' has another type than expected"},
      {op, {x, w}, {{"dilation", int64_t{2}}}, "attribute 'dilation' is 2: it is not supported in opset 28"},
      {op, {x, w}, {{"dilation", kHuge}}, "1 spatial dimensions with a dilation of", "com.microsoft"},
      {op, {x, w}, {{"dilation", int64_t{-1}}}, "a dilation of -1", "com.microsoft"},
      {op, {x, w}, {{"ndim", int64_t{2}}}, "2 spatial dimensions", "com.microsoft"},
      {op, {x, w}, {{"channels_last", int64_t{1}}}, "attribute 'channels_last' is 1, expected 0", "com.microsoft"},
      {op, {x, w}, {{"state_window", int64_t{4}}}, "attribute 'state_window' is 4, expected 0", "com.microsoft"},
  });
}

TEST(HostileOperators, LinearAttention) {
  const char* op = "LinearAttention";
  const Dims x = {2, 3, 8}, gate = {2, 3, 2};
  const auto none = std::nullopt;
  const auto heads = [](int64_t queries, int64_t values, const char* rule = "linear") {
    return Settings{{"q_num_heads", queries}, {"kv_num_heads", values}, {"update_rule", rule}};
  };
  expect_sentences({
      {op, {x, x, x}, heads(2, 2), ""},
      {op, {x, x, x, none, gate, gate}, heads(2, 2, "gated_delta"), ""},
      {op, {x, x}, heads(2, 2), "input 2 is missing"},
      {op, {x, x, x}, {}, "0 query and 0 value heads"},
      {op, {x, x, x}, heads(3, 2), "3 query and 2 value heads"},
      {op, {x, x, x}, heads(-2, 2), "-2 query and 2 value heads"},
      {op, {x, x, x}, heads(kHuge, kHuge), "query and"},
      {op, {x, x, x}, heads(16, 16), "16 query and 16 value heads"},
      {op, {x, x, Dims{2, 4, 8}}, heads(2, 2), "values [2,4,8]"},
      {op, {Dims{2, 8}, Dims{2, 8}, Dims{2, 8}}, heads(2, 2), "of [2,8]"},
      {op, {x, Dims{2, 3, 6}, x}, heads(2, 2), "keys of [2,3,6] for 2 heads of 4 channels"},
      {op, {x, x, x}, heads(2, 2, "cosine"), "attribute 'update_rule' is 'cosine', expected linear"},
      {op, {x, x, x}, heads(2, 2, "gated"), "update_rule 'gated' without decay and without beta"},
      {op, {x, x, x, none, gate}, heads(2, 2), "update_rule 'linear' with decay and without beta"},
      {op, {x, x, x, none, gate}, heads(2, 2, "gated_delta"), "with decay and without beta"},
      {op, {x, x, x, Dims{2, 2, 4, 5}}, heads(2, 2), "a past state of [2,2,4,5], expected [2,2,4,4]"},
      {op, {x, x, x, none, Dims{2, 3, 5}}, heads(2, 2, "gated"), "input 4 is [2,3,5], expected [2,3,2] or [...,8]"},
      {op, {x, x, x, none, none, Dims{2, 2}}, heads(2, 2, "delta"), "input 5 is [2,2]"},
      {op, {Dims{1, 513, 2}, Dims{1, 513, 2}, Dims{1, 513, 2}}, heads(1, 1), "513 tokens, at most 512"},
  });
}

TEST(HostileOperators, MaxRoiPool) {
  const char* op = "MaxRoiPool";
  const Dims maps = {2, 3, 8, 9}, regions = {4, 5};
  const auto bins = [](std::vector<int64_t> sizes) { return Settings{{"pooled_shape", std::move(sizes)}}; };
  expect_sentences({
      {op, {maps, regions}, bins({2, 2}), ""},
      {op, {maps}, bins({2, 2}), "input 1 is missing"},
      {op, {Dims{3, 8, 9}, regions}, bins({2, 2}), "maps [3,8,9] and regions [4,5], expected [N,C,H,W] and [R,5]"},
      {op, {maps, Dims{4, 4}}, bins({2, 2}), "regions [4,4]"},
      {op, {maps, regions}, {}, "attribute 'pooled_shape' is [], expected two sizes from 1 to 4096"},
      {op, {maps, regions}, bins({2}), "attribute 'pooled_shape' is [2]"},
      {op, {maps, regions}, bins({0, 2}), "attribute 'pooled_shape' is [0,2]"},
      {op, {maps, regions}, bins({kHuge, kHuge}), "attribute 'pooled_shape' is"},
      {op, {maps, regions}, bins({4096, 4096}), ""},
      {op, {maps, Dims{1000, 5}}, bins({4096, 4096}), "elements"},
      {op, {Dims{1, 1, 4096, 4096}, regions}, bins({2, 2}), "maps of 16777216 positions"},
      {op, {maps, regions}, {{"pooled_shape", std::vector<int64_t>{2, 2}}, {"spatial_scale", -1.0}}, "is -1, expected"},
      {op, {maps, regions}, {{"pooled_shape", std::vector<int64_t>{2, 2}}, {"spatial_scale", 0.0}}, "is 0, expected"},
  });
}

TEST(HostileOperators, TfIdfVectorizer) {
  const char* op = "TfIdfVectorizer";
  using Ints = std::vector<int64_t>;
  const auto settings = [](Ints pool, Ints counts, Ints indexes, int64_t shortest = 1, int64_t longest = 2,
                           int64_t skips = 0, const char* mode = "TF") {
    return Settings{{"pool_int64s", pool},
                    {"ngram_counts", counts},
                    {"ngram_indexes", indexes},
                    {"min_gram_length", shortest},
                    {"max_gram_length", longest},
                    {"max_skip_count", skips},
                    {"mode", mode}};
  };
  const Settings good = settings({1, 2, 3, 4}, {0, 2}, {0, 1, 2});
  const auto with = [&](const char* name, Setting setting) {
    Settings all = good;
    all.emplace_back(name, std::move(setting));
    return all;
  };
  std::vector<Case> cases = {
      {op, {Dims{6}}, good, ""},
      {op, {}, good, "input 0 is missing"},
      {op, {Dims{2, 3, 4}}, good, "tokens of [2,3,4], expected [C] or [N,C]"},
      {op, {Dims{6}}, {}, "n-grams of 0 to 0 tokens"},
      {op, {Dims{6}}, settings({1, 2, 3}, {0, 2}, {0, 1, 2}), "n-grams of 2 from 2 to 3 of 3"},
      {op, {Dims{6}}, settings({1, 2, 3, 4}, {0, 9}, {0, 1, 2}), "n-grams of 1 from 0 to 9 of 4"},
      {op, {Dims{6}}, settings({1, 2, 3, 4}, {-1, 2}, {0, 1, 2}), "from -1 to 2"},
      {op, {Dims{6}}, settings({1, 1, 3, 4}, {0, 2}, {0, 1, 2}), "attribute 'pool_int64s' has an n-gram twice"},
      {op, {Dims{6}}, settings({1, 2, 3, 4}, {0, 2}, {0, 1}), "3 n-grams with 2 indexes and 0 weights"},
      {op, {Dims{6}}, settings({}, {}, {}), "0 n-grams"},
      {op, {Dims{6}}, settings({1, 2, 3, 4}, {0, 2}, {0, 0, 2}), "attribute 'ngram_indexes' has 0 twice"},
      {op, {Dims{6}}, settings({1, 2, 3, 4}, {0, 2}, {0, -1, 2}), "attribute 'ngram_indexes' has a value of -1"},
      {op, {Dims{6}}, settings({1, 2, 3, 4}, {0, 2}, {0, kHuge, 2}), "attribute 'ngram_indexes' has a value of"},
      {op, {Dims{6}}, settings({1, 2, 3, 4}, {0, 2}, {0, 1, 2}, 2, 1), "n-grams of 2 to 1 tokens"},
      {op, {Dims{6}}, settings({1, 2, 3, 4}, {0, 2}, {0, 1, 2}, 1, kHuge), "n-grams of 1 to"},
      {op, {Dims{6}}, settings({1, 2, 3, 4}, {0, 2}, {0, 1, 2}, 1, 2, -1), "with -1 skips"},
      {op, {Dims{6}}, settings({1, 2, 3, 4}, {0, 2}, {0, 1, 2}, 1, 2, 0, "BM25"), "attribute 'mode' is 'BM25'"},
      {op, {Dims{6}}, settings({1, kHuge, 3, 4}, {0, 2}, {0, 1, 2}), "is beyond 32 bits"},
      {op, {Dims{6}}, with("pool_strings", "a"), "its n-grams are strings, which are not supported"},
      {op, {Dims{6}}, with("weights", std::vector<double>{1}), "3 n-grams with 3 indexes and 1 weights"},
  };
  for (Case& c : cases) c.integers = 0;
  cases.push_back({op, {Dims{6}}, good, "tokens of type float32, expected integers"});
  Case moved = {op,
                {Dims{6}},
                settings({1, 2, 3, 4}, {0, 2}, {1, 0, 2}, 1, 2, 0, "IDF"),
                "attribute 'weights' is in another order than its columns"};
  moved.settings.emplace_back("weights", std::vector<double>{1, 2, 3});
  moved.integers = 0;
  cases.push_back(moved);
  expect_sentences(cases);
}

TEST(HostileOperators, Losses) {
  for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    expect_sentences({
        {op, {Dims{3, 5}, Dims{3}}, {}, "classes of type float32, expected integers"},
        {op, {Dims{3, 5}}, {}, "input 1 is missing"},
        {op, {Dims{3, 5}, Dims{4}}, {}, "classes [4] for scores [3,5]"},
        {op, {Dims{3, 5, 2}, Dims{3}}, {}, "classes [3] for scores [3,5,2]"},
        {op, {Dims{3, 5}, Dims{3}, Dims{4}}, {}, "weights [4] for 5 classes"},
    });
    expect_sentences({
        {op, {Dims{3, 5}, Dims{3}}, {}, "", "", 1},
        {op, {Dims{3, 5}, Dims{3}}, {{"reduction", "max"}}, "attribute 'reduction' is 'max'", "", 1},
        {op, {Dims{3, 5}, Dims{3}}, {{"ignore_index", kHuge}}, "is beyond 32 bits", "", 1},
    });
  }
  expect_sentences({{"NegativeLogLikelihoodLoss", {Dims{3}, Dims{}}, {}, "classes [] for scores [3]"}});
}

// y = op(x0) after a node that makes the input.
::onnx::ModelProto chain(const char* first, const char* second, bool with_input = true) {
  ::onnx::ModelProto model = model_of({first, {Dims{2, 3}}, {}, ""});
  ::onnx::NodeProto* node = model.mutable_graph()->mutable_node(0);
  if (!with_input) node->clear_input();
  node->set_output(0, "between");
  ::onnx::NodeProto* last = model.mutable_graph()->add_node();
  last->set_op_type(second);
  last->add_input("between");
  last->add_output("y");
  return model;
}

TEST(HostileOperators, OptionalValues) {
  const auto absent = [](const char* second) {
    ::onnx::ModelProto model = chain("Optional", second, false);
    ::onnx::AttributeProto* type = model.mutable_graph()->mutable_node(0)->add_attribute();
    type->set_name("type");
    type->set_type(::onnx::AttributeProto::TYPE_PROTO);
    type->mutable_tp()->mutable_optional_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(1);
    return sentence_of(model);
  };
  EXPECT_EQ(sentence_of(chain("Optional", "OptionalGetElement")), "");
  EXPECT_EQ(sentence_of(chain("Optional", "OptionalHasElement")), "");
  EXPECT_EQ(absent("OptionalHasElement"), "");
  EXPECT_NE(absent("OptionalGetElement").find("its optional value has no element"), std::string::npos);
  EXPECT_NE(absent("Identity").find("output 'y': it is an optional value without an element"), std::string::npos);
  EXPECT_NE(absent("Relu").find("input 0 'between' is an optional value without an element"), std::string::npos);
  EXPECT_NE(absent("SequenceLength").find("input 0 is an optional value without an element"), std::string::npos);
  EXPECT_NE(absent("SequenceConstruct").find("is an optional value without an element"), std::string::npos);
  EXPECT_NE(sentence_of(chain("Optional", "OptionalHasElement", false)).find("neither an input nor the attribute"),
            std::string::npos);
  expect_sentences({{"OptionalGetElement", {}, {}, "input 0 is missing"}});
}

// y = ConcatFromSequence(SequenceMap(SequenceConstruct(x0), more...)), with a body that negates its first input.
::onnx::ModelProto mapped(const std::vector<std::string>& inputs) {
  ::onnx::ModelProto model = chain("SequenceConstruct", "SequenceMap");
  ::onnx::NodeProto* node = model.mutable_graph()->mutable_node(1);
  node->clear_input();
  for (const std::string& input : inputs) node->add_input(input);
  node->set_output(0, "list");
  ::onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name("body");
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  ::onnx::GraphProto* body = attribute->mutable_g();
  for (size_t i = 0; i < inputs.size(); ++i) body->add_input()->set_name("p" + std::to_string(i));
  ::onnx::NodeProto* inner = body->add_node();
  inner->set_op_type("Neg");
  inner->add_input("p0");
  inner->add_output("n");
  body->add_output()->set_name("n");
  ::onnx::NodeProto* last = model.mutable_graph()->add_node();
  last->set_op_type("ConcatFromSequence");
  last->add_input("list");
  last->add_output("y");
  set(last->add_attribute(), int64_t{0});
  last->mutable_attribute(0)->set_name("axis");
  return model;
}

TEST(HostileOperators, SequenceMap) {
  EXPECT_EQ(sentence_of(mapped({"between"})), "");
  EXPECT_EQ(sentence_of(mapped({"between", "x0"})), "");
  EXPECT_EQ(sentence_of(mapped({"between", "between"})), "");
  EXPECT_EQ(sentence_of(mapped({"x0", "between"})), "input 0 is no sequence of tensors");
  EXPECT_NE(sentence_of(chain("SequenceConstruct", "SequenceMap")).find("attribute 'body' is missing"),
            std::string::npos);
  const auto body = [](::onnx::ModelProto& model) {
    return model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g();
  };
  ::onnx::ModelProto more = mapped({"between"});
  body(more)->add_input()->set_name("p1");
  EXPECT_EQ(sentence_of(more), "its body has 2 inputs and 1 outputs, which do not fit the node's");
  ::onnx::ModelProto none = mapped({"between"});
  body(none)->clear_input();
  EXPECT_NE(sentence_of(none), "");
  ::onnx::ModelProto fewer = mapped({"between"});
  body(fewer)->clear_output();
  EXPECT_EQ(sentence_of(fewer), "its body has 1 inputs and 0 outputs, which do not fit the node's");
  ::onnx::ModelProto list = mapped({"between"});
  body(list)->mutable_node(0)->set_op_type("SequenceConstruct");
  EXPECT_EQ(sentence_of(list), "output 0 of its body is no tensor");
  ::onnx::ModelProto foreign = mapped({"between"});
  body(foreign)->mutable_node(0)->set_op_type("Foreign");
  EXPECT_NE(sentence_of(foreign).find("the operator is not supported"), std::string::npos);
}

// y = If(c) of one node per branch, both of which read x; c is an input.
::onnx::ModelProto decided(const char* one, const char* other) {
  ::onnx::ModelProto model = model_of({"If", {Dims{2, 3}}, {}, ""});
  model.mutable_graph()->mutable_node(0)->set_input(0, "c");
  auto* input = model.mutable_graph()->add_input();
  input->set_name("c");
  input->mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::BOOL);
  input->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(1);
  for (const auto& [name, op] : {std::pair{"then_branch", one}, {"else_branch", other}}) {
    ::onnx::AttributeProto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    ::onnx::NodeProto* inner = attribute->mutable_g()->add_node();
    inner->set_op_type(op);
    inner->add_input("x0");
    inner->add_output("b");
    attribute->mutable_g()->add_output()->set_name("b");
  }
  return model;
}

TEST(HostileOperators, ComputedConditionsNeedBranchesOfOneShape) {
  const std::string depends = "its condition 'c' depends on the graph's inputs, and ";
  const std::string differs = "output 'y' is no tensor of one type and one shape with elements in both branches";
  EXPECT_EQ(sentence_of(decided("Neg", "Exp")), "");
  EXPECT_EQ(sentence_of(decided("Neg", "Transpose")), depends + differs);
  EXPECT_EQ(sentence_of(decided("Neg", "Shape")), depends + differs);
  EXPECT_EQ(sentence_of(decided("SequenceConstruct", "Neg")), depends + differs);
  EXPECT_EQ(sentence_of(decided("Neg", "Foreign")),
            depends + "a branch cannot be converted: the operator is not supported: ONNX has none of this name");
  EXPECT_EQ(sentence_of(decided("Neg", "NonZero")),
            depends + "a branch cannot be converted: the size of 'b' follows from the values of inputs");
  ::onnx::ModelProto more = decided("Neg", "Exp");
  more.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g()->add_output()->set_name("x0");
  EXPECT_EQ(sentence_of(more), depends + "a branch has 2 outputs, expected 1");
}

// y = op(Compress(x0 by the input c), w), w float32 [4,3].
::onnx::ModelProto compressed(const char* op) {
  ::onnx::ModelProto model = chain("Compress", op);
  ::onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(1);
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(3);
  auto* input = graph.add_input();
  input->set_name("c");
  input->mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::BOOL);
  input->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(1);
  graph.mutable_node(0)->add_input("c");
  set(graph.mutable_node(0)->add_attribute(), int64_t{0});
  graph.mutable_node(0)->mutable_attribute(0)->set_name("axis");
  ::onnx::TensorProto* weight = graph.add_initializer();
  weight->set_name("w");
  weight->set_data_type(::onnx::TensorProto::FLOAT);
  for (const int64_t d : {4, 3}) weight->add_dims(d);
  for (int i = 0; i < 12; ++i) weight->add_float_data(1);
  graph.mutable_node(1)->add_input("w");
  return model;
}

TEST(HostileOperators, CountsOfOneAreNotBroadcast) {
  const char* says = "dimension 0 of input 0, whose size follows from values, is broadcast to 4";
  EXPECT_EQ(sentence_of(compressed("Add")), says);
  EXPECT_EQ(sentence_of(compressed("PRelu")), says);
}

// y = Loop(count, c, x) with a body that negates its state; c is an input, and the condition after each iteration.
::onnx::ModelProto repeated(int64_t count, const char* op) {
  ::onnx::ModelProto model = model_of({"Loop", {Dims{2, 3}}, {}, ""});
  ::onnx::GraphProto& graph = *model.mutable_graph();
  auto* input = graph.add_input();
  input->set_name("c");
  input->mutable_type()->mutable_tensor_type()->set_elem_type(::onnx::TensorProto::BOOL);
  input->mutable_type()->mutable_tensor_type()->mutable_shape();
  ::onnx::TensorProto* trips = graph.add_initializer();
  trips->set_name("count");
  trips->set_data_type(::onnx::TensorProto::INT64);
  trips->add_int64_data(count);
  ::onnx::NodeProto* node = graph.mutable_node(0);
  node->clear_input();
  for (const char* name : {count < 0 ? "" : "count", "c", "x0"}) node->add_input(name);
  ::onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name("body");
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  ::onnx::GraphProto* body = attribute->mutable_g();
  for (const char* name : {"i", "going", "before"}) body->add_input()->set_name(name);
  ::onnx::NodeProto* inner = body->add_node();
  inner->set_op_type(op);
  inner->add_input("before");
  inner->add_output("after");
  for (const char* name : {"c", "after"}) body->add_output()->set_name(name);
  return model;
}

TEST(HostileOperators, LoopsThatTheRunEndsHaveAStateOfOneShape) {
  EXPECT_EQ(sentence_of(repeated(3, "Neg")), "");
  EXPECT_EQ(sentence_of(repeated(kHuge, "Neg")), "");
  EXPECT_EQ(sentence_of(repeated(-1, "Neg")), "");
  EXPECT_EQ(sentence_of(repeated(-1, "Transpose")), "state 'after' is [2,3] before a step, and [3,2] after it");
  EXPECT_EQ(sentence_of(repeated(-1, "SequenceConstruct")), "state 'after' is no tensor");
  EXPECT_EQ(
      sentence_of(repeated(3, "Transpose")),
      "its number of iterations depends on the graph's inputs, and 'after' is no tensor of one type and one shape "
      "in all of them");
  EXPECT_EQ(
      sentence_of(repeated(3, "SequenceConstruct")),
      "its number of iterations depends on the graph's inputs, and 'after' is no tensor of one type and one shape "
      "in all of them");
}

}  // namespace
}  // namespace ferry::testing
