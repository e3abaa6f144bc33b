// ferry diff: the differences of two blobs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"

namespace ferry::cli_test {
namespace {

class Diff : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"diff", "a.ferry", "b.ferry"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return ferry(folder_.path(), all);
  }

  void write(const char* name, const Graph& graph) {
    const std::vector<std::byte> bytes = pack(graph);
    folder_.write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  static fbs::OperatorT& operator_of(Graph& graph, const std::string& name) {
    for (const auto& op : graph.table.operators)
      if (op->name == name) return *op;
    ADD_FAILURE() << "no operator " << name;
    return *graph.table.operators.front();
  }

  ScratchFolder folder_;
};

TEST_F(Diff, OfTheSameNetworkThereIsNone) {
  for (const auto& make : {testing::small_classifier, testing::small_transformer}) {
    write("a.ferry", *make());
    write("b.ferry", *make());
    const Result r = run({});
    EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
    EXPECT_NE(r.out.find("the same network: "), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("agree bit for bit"), std::string::npos) << r.out;
  }
}

// One of each kind: a parameter, another operator, a weight, a label, the preprocessing.
TEST_F(Diff, EachDifferenceIsNamed) {
  write("a.ferry", *testing::small_classifier());
  const std::unique_ptr<Graph> other = testing::small_classifier();
  Graph& g = *other;
  const auto conv = std::find_if(g.table.operators.begin(), g.table.operators.end(),
                                 [](const auto& op) { return op->params.type == fbs::OpParams::Conv2d; });
  ASSERT_NE(conv, g.table.operators.end());
  (*conv)->params.AsConv2d()->output_max = 5.5f;
  ASSERT_FALSE(g.table.labels.empty());
  g.table.labels[1] = "something else";
  g.table.preprocess->mean = {0.25f, 0.25f, 0.25f};
  write("b.ferry", g);
  const Result r = run({});
  EXPECT_EQ(r.exit_code, 1) << r.err;
  for (const char* words : {"~ labels: label 1 '", " | label 1 'something else'", "~ preprocessing, mean: ",
                            " | 0.25 0.25 0.25\n", "~ conv2d ", "..5.5\n", "3 differences; "})
    EXPECT_NE(r.out.find(words), std::string::npos) << words << "\n" << r.out;
  const nlohmann::json j = nlohmann::json::parse(run({"--json"}).out);
  EXPECT_EQ(j["same"], false);
  EXPECT_EQ(j["graphs"][0]["operators"].size(), 1u);
  EXPECT_EQ(j["graphs"][0]["ports"].size(), 2u);
  EXPECT_EQ(j["graphs"][0]["weights"].size(), 0u);
}

TEST_F(Diff, HowPreprocessingDiffersIsInWords) {
  write("a.ferry", *testing::small_classifier());
  const std::unique_ptr<Graph> other = testing::small_classifier();
  fbs::PreprocessT& p = *other->table.preprocess;
  p.resize_mode = fbs::ResizeMode::Exact;
  p.resize_h = p.resize_w = 8;
  p.std = {0.5f, 0.5f, 0.5f};
  p.color = fbs::ColorOrder::BGR;
  write("b.ferry", *other);
  const Result r = run({});
  for (const char* line : {"~ preprocessing, resizing: shorter edge to 10 (Bicubic) | to 8x8 (Bicubic)\n",
                           "~ preprocessing, standard deviation: 0.229 0.224 0.225 | 0.5 0.5 0.5\n",
                           "~ preprocessing, colour order: RGB | BGR\n", "3 differences; "})
    EXPECT_NE(r.out.find(line), std::string::npos) << line << r.out;
  other->table.preprocess = nullptr;
  write("b.ferry", *other);
  EXPECT_NE(run({}).out.find(" | none: the app writes tensors\n"), std::string::npos) << run({}).out;
}

TEST_F(Diff, TasksAndGraphsAreInWords) {
  write("a.ferry", *testing::small_classifier());
  const std::unique_ptr<Graph> other = testing::small_classifier();
  other->table.postprocess->task = fbs::Task::MultiLabel;
  write("b.ferry", *other);
  EXPECT_NE(run({}).out.find("~ task: classification, 5 labels | several classes at once, 5 labels\n"),
            std::string::npos)
      << run({}).out;
  write("b.ferry", *testing::small_transformer());
  const std::string out = run({}).out;
  EXPECT_NE(out.find("\n+ graph states  "), std::string::npos) << out;
  EXPECT_NE(out.find(" operators, only in the second blob\n"), std::string::npos) << out;
}

TEST_F(Diff, WeightsAreMeasured) {
  const auto network = [](float first, bool quantized) {
    Graph g;
    std::vector<float> values(64 * 32);
    for (size_t i = 0; i < values.size(); ++i) values[i] = testing::noise(3, static_cast<uint32_t>(i));
    values[7] = first;
    const Tensor x = g.add_input("x", {1, 32}, fbs::Layout::Same), w = g.add_constant("head.weight", {64, 32}, values);
    g.add_output("y", g.add_op("head", fbs::LinearT(), {x, w}), fbs::Layout::Same);
    if (quantized) quantize_to_int8(g, g.at(w.id));
    return pack(g);
  };
  const auto save = [&](const char* name, const std::vector<std::byte>& bytes) {
    folder_.write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  };
  save("a.ferry", network(0.25f, false));
  save("b.ferry", network(0.5f, false));
  const Result r = run({});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_NE(r.out.find("~ head.weight  Float32 [64,32]: maximum difference 0.25, maximum magnitude 0.5"),
            std::string::npos)
      << r.out;
  save("b.ferry", network(0.25f, true));
  const nlohmann::json j = nlohmann::json::parse(run({"--json"}).out);
  ASSERT_EQ(j["graphs"][0]["weights"].size(), 1u) << j;
  const nlohmann::json& weight = j["graphs"][0]["weights"][0];
  EXPECT_NE(weight["b"].get<std::string>().find("Int8"), std::string::npos) << weight;
  EXPECT_GT(weight["largest_difference"], 0);
  EXPECT_LT(weight["largest_difference"], 0.5 / 127);
}

TEST_F(Diff, OperatorsOfOneOnlyAndOtherShapes) {
  const auto network = [](int width, bool more) {
    Graph g;
    Tensor y = g.add_op("head", fbs::SoftmaxT(), {g.add_input("x", {1, width}, fbs::Layout::Same)});
    if (more) y = g.add_op("again", fbs::SoftmaxT(), {y});
    g.add_output("y", y, fbs::Layout::Same);
    return pack(g);
  };
  const auto save = [&](const char* name, const std::vector<std::byte>& bytes) {
    folder_.write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  };
  save("a.ferry", network(8, false));
  save("b.ferry", network(9, true));
  const std::string out = run({}).out;
  for (const char* words :
       {"~ input x: Float32 [1,8] | Float32 [1,9]", "~ softmax head: [1,8] | [1,9]", "+ softmax again  [1,9]"})
    EXPECT_NE(out.find(words), std::string::npos) << words << "\n" << out;
  save("c.ferry", network(8, false));
  EXPECT_NE(ferry(folder_.path(), {"diff", "b.ferry", "c.ferry"}).out.find("- softmax again  [1,9]"),
            std::string::npos);
}

TEST_F(Diff, OtherFilesAreRefused) {
  write("a.ferry", *testing::small_classifier());
  EXPECT_REFUSED(run({}), "b.ferry");
  folder_.write("b.ferry", std::string_view("not a blob"));
  EXPECT_REFUSED(run({}), "b.ferry");
  EXPECT_REFUSED(ferry(folder_.path(), {"diff", "a.ferry"}), "B is required");
}

}  // namespace
}  // namespace ferry::cli_test
