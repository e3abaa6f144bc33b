// Damaged and hostile files: one error message, no crash, bounded memory and time.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/onnx/importer.h"
#include "converter/onnx/op.h"
#include "onnx.pb.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

// Empty if the file was imported, else the error message.
std::string import_file(const fs::path& path) {
  try {
    onnx::import_model(onnx::read_model(path), {});
    return "";
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
    return error.what();
  }
}

std::string import_bytes(const ScratchFolder& folder, const std::string& bytes) {
  return import_file(folder.write("net.onnx", bytes));
}

// y = op(x), x float32 [1,2]; the caller adds further inputs and attributes.
::onnx::ModelProto one_node(const std::string& op) {
  ::onnx::ModelProto model;
  auto* opset = model.add_opset_import();
  opset->set_version(17);
  auto* graph = model.mutable_graph();
  auto* node = graph->add_node();
  node->set_op_type(op);
  node->add_input("x");
  node->add_output("y");
  auto* input = graph->add_input();
  input->set_name("x");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(::onnx::TensorProto::FLOAT);
  for (const int64_t d : {1, 2}) type->mutable_shape()->add_dim()->set_dim_value(d);
  graph->add_output()->set_name("y");
  return model;
}

::onnx::TensorProto* add_shape(::onnx::ModelProto* model, const std::vector<int64_t>& values) {
  auto* tensor = model->mutable_graph()->add_initializer();
  tensor->set_name("shape");
  tensor->set_data_type(::onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t v : values) tensor->add_int64_data(v);
  model->mutable_graph()->mutable_node(0)->add_input("shape");
  return tensor;
}

TEST(BadOnnxFiles, TruncationsAreRefused) {
  const ScratchFolder folder;
  const std::string good = read_text(source_folder() / "tests" / "data" / "onnx" / "cnn" / "model.onnx");
  ASSERT_EQ(import_bytes(folder, good), "");
  for (size_t length = 0; length < good.size(); length += good.size() / 97 + 1)
    EXPECT_NE(import_bytes(folder, good.substr(0, length)), "") << length << " bytes";
}

TEST(BadOnnxFiles, MutationsNeverCrash) {
  const ScratchFolder folder;
  const std::string good = read_text(source_folder() / "tests" / "data" / "onnx" / "detector" / "model.onnx");
  uint32_t state = 1;
  const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (int i = 0; i < 400; ++i) {
    std::string bytes = good;
    for (uint32_t n = next() % 4 + 1; n > 0; --n) bytes[next() % bytes.size()] = static_cast<char>(next());
    import_bytes(folder, bytes);
  }
}

// Constants that may be passed for any input: a scalar, a number, numbers beyond integers, a matrix, text.
void add_odd_constants(::onnx::GraphProto* graph) {
  const auto add = [&](const char* name, std::vector<int64_t> dims, auto type, std::vector<float> values) {
    auto* tensor = graph->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const int64_t d : dims) tensor->add_dims(d);
    for (const float v : values)
      if (type == ::onnx::TensorProto::FLOAT)
        tensor->add_float_data(v);
      else
        tensor->add_int64_data(static_cast<int64_t>(v));
  };
  add("number", {}, ::onnx::TensorProto::FLOAT, {2.5f});
  add("huge", {2}, ::onnx::TensorProto::FLOAT, {1e30f, NAN});
  add("none", {0}, ::onnx::TensorProto::INT64, {});
  add("index", {2}, ::onnx::TensorProto::INT64, {-1, 1});
  add("matrix", {2, 2}, ::onnx::TensorProto::FLOAT, {1, 2, 3, 4});
}

TEST(BadOnnxFiles, AnyInputsOfAnyOperatorNeverCrash) {
  const ScratchFolder folder;
  // All lists of up to two; of three, only those that begin with the graph's input.
  std::vector<std::vector<std::string>> lists = {{}};
  const std::vector<std::string> inputs = {"", "x", "number", "huge", "none", "index", "matrix"};
  for (const std::string& first : inputs) {
    lists.push_back({first});
    lists.push_back({"x", first, first});
    for (const std::string& second : inputs) lists.push_back({first, second});
  }
  for (const std::string domain : {"", "com.microsoft", "ferry"})
    for (const onnx::OpRow& row : onnx::operators_of(domain)) {
      if (row.function == nullptr) continue;
      const std::string op(row.op);
      SCOPED_TRACE(domain + "." + op);
      ::onnx::ModelProto model = one_node(op);
      add_odd_constants(model.mutable_graph());
      ::onnx::NodeProto* node = model.mutable_graph()->mutable_node(0);
      node->set_domain(domain);
      for (const std::vector<std::string>& list : lists) {
        node->clear_input();
        for (const std::string& name : list) node->add_input(name);
        import_bytes(folder, model.SerializeAsString());
      }
      node->clear_output();
      import_bytes(folder, model.SerializeAsString());
    }
}

TEST(BadOnnxFiles, CyclesAndMissingValuesAreNamed) {
  const ScratchFolder folder;
  ::onnx::ModelProto cyclic = one_node("Add");
  cyclic.mutable_graph()->mutable_node(0)->add_input("y");
  EXPECT_NE(import_bytes(folder, cyclic.SerializeAsString()).find("cyclic"), std::string::npos);
  ::onnx::ModelProto missing = one_node("Add");
  missing.mutable_graph()->mutable_node(0)->add_input("w");
  EXPECT_NE(import_bytes(folder, missing.SerializeAsString()).find("reads 'w', which no node computes"),
            std::string::npos);
}

TEST(BadOnnxFiles, AbsurdSizesAreRefusedBeforeMemoryIsTaken) {
  const ScratchFolder folder;
  for (const int64_t side : {int64_t{1} << 20, int64_t{1} << 40, INT64_MAX, int64_t{-5}}) {
    ::onnx::ModelProto expand = one_node("Expand");
    add_shape(&expand, {side, side, 2});
    EXPECT_NE(import_bytes(folder, expand.SerializeAsString()), "") << side;
    ::onnx::ModelProto fill = one_node("Add");
    add_shape(&fill, {side, side});
    auto* node = fill.mutable_graph()->add_node();
    node->set_op_type("ConstantOfShape");
    node->add_input("shape");
    node->add_output("z");
    fill.mutable_graph()->mutable_node(0)->set_input(1, "z");
    EXPECT_NE(import_bytes(folder, fill.SerializeAsString()), "") << side;
  }
}

// A few bytes may ask for much work: functions that call the next one twice, attributes that every call copies,
// constants.
TEST(BadOnnxFiles, ExpansionIsBounded) {
  const ScratchFolder folder;
  ::onnx::ModelProto calls = one_node("f0");
  calls.mutable_graph()->mutable_node(0)->set_domain("own");
  for (int i = 0; i < 30; ++i) {
    auto* function = calls.add_functions();
    function->set_name("f" + std::to_string(i));
    function->set_domain("own");
    function->add_input("x");
    function->add_output("y");
    for (int twice = 0; twice < 2; ++twice) {
      auto* node = function->add_node();
      node->set_op_type("f" + std::to_string(i + 1));
      node->set_domain("own");
      node->add_input("x");
      node->add_output(twice == 0 ? "between" : "y");
    }
  }
  ::onnx::ModelProto empty = calls;  // the last one does nothing
  auto* last = empty.add_functions();
  last->set_name("f30");
  last->set_domain("own");
  last->add_input("x");
  last->add_output("y");
  EXPECT_NE(import_bytes(folder, empty.SerializeAsString()).find("more than 1000000 nodes"), std::string::npos);

  ::onnx::ModelProto copies = calls;
  auto* text = copies.mutable_functions(28)->mutable_node(0)->add_attribute();
  text->set_name("text");
  text->set_type(::onnx::AttributeProto::STRING);
  text->set_s(std::string(1 << 20, 'a'));
  copies.mutable_functions(29)->add_attribute("text");
  EXPECT_NE(import_bytes(folder, copies.SerializeAsString()).find("more than 256 MB"), std::string::npos);

  onnx::begin_computing(/*stored=*/1000);
  EXPECT_EQ(onnx::count_computed({1 << 14, 1 << 14}), 1 << 28);
  EXPECT_EQ(onnx::count_computed({16'000}), 16'000);
  EXPECT_THROW(onnx::count_computed({1}), Error);
  onnx::begin_computing(0);  // each conversion starts over
  EXPECT_EQ(onnx::count_computed({1}), 1);
}

// y = If(x) with one node per branch, each of which reads x.
::onnx::ModelProto branches(const std::string& op) {
  ::onnx::ModelProto model = one_node("If");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
    attribute->set_name(name);
    attribute->set_type(::onnx::AttributeProto::GRAPH);
    auto* node = attribute->mutable_g()->add_node();
    node->set_op_type(op);
    node->add_input("x");
    node->add_output(std::string(name) + "_y");
    attribute->mutable_g()->add_output()->set_name(node->output(0));
  }
  return model;
}

TEST(BadOnnxFiles, BranchesAreTakenAtConversionOnly) {
  const ScratchFolder folder;
  const auto error_of = [&](const ::onnx::ModelProto& model) {
    return import_bytes(folder, model.SerializeAsString());
  };
  EXPECT_NE(error_of(branches("Relu")).find("its condition 'x' depends on the graph's inputs"), std::string::npos);
  ::onnx::ModelProto known = branches("Relu");
  add_shape(&known, {1});
  known.mutable_graph()->mutable_node(0)->set_input(0, "shape");
  EXPECT_EQ(error_of(known), "");
  ::onnx::ModelProto foreign = known;
  foreign.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("Foreign");
  EXPECT_NE(error_of(foreign).find("the operator is not supported"), std::string::npos);
  ::onnx::ModelProto missing = known;
  missing.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g()->mutable_node(0)->set_input(0, "nowhere");
  EXPECT_NE(error_of(missing).find("which no node computes"), std::string::npos);
  ::onnx::ModelProto more = known;
  more.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->add_output()->set_name("x");
  EXPECT_NE(error_of(more).find("its branches have 2 outputs, expected 1"), std::string::npos);
}

// y = Loop(count, "", x) with a body that doubles x.
::onnx::ModelProto loop(int64_t count) {
  ::onnx::ModelProto model = one_node("Loop");
  auto* trips = model.mutable_graph()->add_initializer();
  trips->set_name("count");
  trips->set_data_type(::onnx::TensorProto::INT64);
  trips->add_int64_data(count);
  auto* node = model.mutable_graph()->mutable_node(0);
  node->set_input(0, "count");
  node->add_input("");
  node->add_input("x");
  auto* attribute = node->add_attribute();
  attribute->set_name("body");
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  auto* body = attribute->mutable_g();
  for (const char* name : {"i", "going", "before"}) body->add_input()->set_name(name);
  auto* twice = body->add_node();
  twice->set_op_type("Add");
  twice->add_input("before");
  twice->add_input("before");
  twice->add_output("after");
  for (const char* name : {"going", "after"}) body->add_output()->set_name(name);
  return model;
}

TEST(BadOnnxFiles, LoopsEndAfterANumberOfSteps) {
  const ScratchFolder folder;
  const auto error_of = [&](const ::onnx::ModelProto& model) {
    return import_bytes(folder, model.SerializeAsString());
  };
  EXPECT_EQ(error_of(loop(3)), "");
  EXPECT_EQ(error_of(loop(-1)), "");  // x itself
  EXPECT_NE(error_of(loop(INT64_MAX)).find("nothing ends it: no trip count, and a condition that always holds"),
            std::string::npos);
  ::onnx::ModelProto open = loop(3);
  open.mutable_graph()->mutable_node(0)->set_input(0, "x");
  EXPECT_NE(error_of(open).find("its trip count 'x' is not one integer"), std::string::npos);
  ::onnx::ModelProto until = loop(3);
  until.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_output(0)->set_name("after");
  EXPECT_NE(error_of(until).find("its condition after an iteration 'after' depends on"), std::string::npos);
  ::onnx::ModelProto fewer = loop(3);
  fewer.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->clear_output();
  EXPECT_NE(error_of(fewer).find("its body has 3 inputs and 0 outputs"), std::string::npos);
  ::onnx::ModelProto foreign = loop(3);
  foreign.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("Foreign");
  EXPECT_NE(error_of(foreign).find("the operator is not supported"), std::string::npos);
}

TEST(BadOnnxFiles, SequencesAreNoTensors) {
  const ScratchFolder folder;
  ::onnx::ModelProto model = one_node("SequenceConstruct");
  EXPECT_NE(import_bytes(folder, model.SerializeAsString()).find("it is a sequence of tensors, expected a tensor"),
            std::string::npos);
  model.mutable_graph()->mutable_node(0)->set_output(0, "list");
  auto* node = model.mutable_graph()->add_node();
  node->set_op_type("Relu");
  node->add_input("list");
  node->add_output("y");
  EXPECT_NE(import_bytes(folder, model.SerializeAsString()).find("input 0 'list' is a sequence of tensors"),
            std::string::npos);
  node->set_op_type("SequenceLength");
  EXPECT_EQ(import_bytes(folder, model.SerializeAsString()), "");
}

TEST(BadOnnxFiles, ExternalDataStaysInTheFolder) {
  const ScratchFolder folder;
  folder.write("weights.bin", std::string(8, '\0'));
  for (const char* location : {"../weights.bin", "/etc/passwd", "sub/../../weights.bin", "weights.bin"}) {
    ::onnx::ModelProto model = one_node("Add");
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(::onnx::TensorProto::FLOAT);
    tensor->add_dims(2);
    tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
    auto* entry = tensor->add_external_data();
    entry->set_key("location");
    entry->set_value(location);
    model.mutable_graph()->mutable_node(0)->add_input("w");
    const std::string sentence = import_bytes(folder, model.SerializeAsString());
    const bool inside = std::string(location) == "weights.bin";
    EXPECT_EQ(sentence.empty(), inside) << sentence;
    EXPECT_EQ(sentence.find("outside the file's folder") == std::string::npos, inside) << sentence;
  }
}

TEST(BadOnnxFiles, AllReasonsAreReportedTogether) {
  const ScratchFolder folder;
  ::onnx::ModelProto model = one_node("Unheard");
  for (const char* op : {"AlsoUnheard", "Relu"}) {
    auto* node = model.mutable_graph()->add_node();
    node->set_op_type(op);
    node->set_name(op);
    node->add_input("y");
    node->add_output(std::string(op) + "_out");
    model.mutable_graph()->add_output()->set_name(node->output(0));
  }
  try {
    onnx::import_model(onnx::read_model(folder.write("net.onnx", model.SerializeAsString())), {});
    FAIL() << "it was imported";
  } catch (const onnx::Refused& refused) {
    ASSERT_EQ(refused.reasons().size(), 2u) << refused.what();
    EXPECT_EQ(refused.reasons()[0].op, "Unheard");
    EXPECT_EQ(refused.reasons()[1].node, "AlsoUnheard");
  }
}

}  // namespace
}  // namespace ferry::testing
