// ferry inspect --graph FILE: a drawing of the graph.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converter/pack/pack.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"

namespace ferry::cli_test {
namespace {

class Draw : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"inspect", "m.ferry"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return ferry(folder_.path(), all);
  }
  void write(const Graph& graph) {
    const std::vector<std::byte> bytes = pack(graph);
    folder_.write("m.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  std::string file(const char* name) { return read_text(folder_.path() / name); }

  ScratchFolder folder_;
};

size_t count(const std::string& text, const std::string& word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

// Two products of x whose results are added: three lines in two lanes.
TEST_F(Draw, OperatorsAreRowsAndValuesAreLines) {
  Graph g;
  const Tensor x = g.add_input("x", {1, 4}, fbs::Layout::Same);
  const auto product = [&](const char* name, Tensor of) {
    return g.add_op(name, fbs::LinearT(), {of, g.add_constant("w", {4, 4}, std::vector<float>(16, 0.5f))});
  };
  const Tensor a = product("left", x), b = product("right", x);
  g.add_output("y", g.add_op("sum", fbs::BinaryT(), {a, b}), fbs::Layout::Same);
  write(g);
  const Result r = run({"--graph", "m.svg"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.out, "m.svg: 3 operators\n");
  const std::string svg = file("m.svg");
  EXPECT_EQ(count(svg, "<g class=\"row\""), 4u);  // including the input
  EXPECT_EQ(count(svg, "<path class=\"line "), 4u);
  for (const char* line : {"line f0 t1", "line f0 t2", "line f1 t3", "line f2 t3"})
    EXPECT_EQ(count(svg, line), 1u) << line << "\n" << svg;
  for (const char* words : {">left<", ">binary<", "Float32 [1,4]", "output y", "</svg>"})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  // No column is empty: there are no times, and modules have short names.
  EXPECT_LT(std::stod(svg.substr(svg.find(" width=\"") + 8)), 700.0);
}

TEST_F(Draw, APageHasDetailsAndTimes) {
  write(*testing::small_classifier());
  EXPECT_EQ(run({"--graph", "m.html", "--times"}).exit_code, 0);
  const std::string html = file("m.html");
  const std::string begin = "<script type=\"application/json\" id=\"rows\">";
  const size_t at = html.find(begin);
  ASSERT_NE(at, html.npos);
  const nlohmann::json rows =
      nlohmann::json::parse(html.substr(at + begin.size(), html.find("</script>", at) - at - begin.size()));
  ASSERT_GT(rows.size(), 3u);
  EXPECT_EQ(rows[0]["kind"], "input");
  bool timed = true, weights = false, taps = false;
  for (size_t i = 1; i < rows.size(); ++i) {
    timed &= rows[i]["time"] != "";
    weights |= !rows[i]["weights"].empty();
    taps |= !rows[i]["taps"].empty();
    for (const auto& from : rows[i]["from"]) EXPECT_LT(from.get<size_t>(), i);
  }
  EXPECT_TRUE(timed && weights && taps) << rows;
}

// Convolutions on maps larger than caches are computed in bands, as one step: the last one of a step has its time.
TEST_F(Draw, AFusedOperatorNamesTheRowWithItsTime) {
  Graph g;
  Tensor x = g.add_input("x", {1, 1024, 64, 3}, fbs::Layout::Same);
  const auto conv = [&](const char* name, int outputs, int kernel, int groups) {
    fbs::Conv2dT p;
    p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = kernel / 2;
    p.groups = groups;
    const Shape shape{outputs, kernel, kernel, x.shape()[3] / groups};
    const std::vector<float> values(static_cast<size_t>(shape.elements()), 0.5f);
    x = g.add_op(name, p, {x, g.add_constant(std::string(name) + ".weight", shape, values)});
  };
  conv("expand", 24, 1, 1);
  conv("depthwise", 24, 3, 24);
  conv("project", 8, 1, 1);
  g.add_output("y", x, fbs::Layout::Same);
  write(g);
  ASSERT_EQ(run({"--graph", "m.svg", "--times"}).exit_code, 0);
  const std::string svg = file("m.svg");
  const size_t fused = count(svg, ">with row 2<") + count(svg, ">with row 3<");
  EXPECT_GE(fused, 1u) << svg;
  EXPECT_EQ(count(svg, " ms<") + count(svg, " us<") + fused, 3u) << svg;
  EXPECT_EQ(count(svg, ">0.000 ms<"), 0u);
}

TEST_F(Draw, TiedWeightsAreCountedOnce) {
  Graph g;
  const Tensor ids = g.add_input("x", {1, 4}, fbs::Layout::Same);
  const Tensor w = g.add_constant("w", {4, 4}, std::vector<float>(16, 0.5f));
  g.add_output("y", g.add_op("b", fbs::LinearT(), {g.add_op("a", fbs::LinearT(), {ids, w}), w}), fbs::Layout::Same);
  write(g);
  ASSERT_EQ(run({"--graph", "m.html"}).exit_code, 0);
  EXPECT_NE(file("m.html").find("3 rows, 16 parameters, "), std::string::npos);
  EXPECT_NE(run({}).out.find("16 parameters, 32 multiply-adds"), std::string::npos) << run({}).out;
}

// A name of the graph's may hold anything.
TEST_F(Draw, NamesAreText) {
  Graph g;
  g.table.name = "</script><b>\"&";
  g.add_output("y", g.add_op("</script><i>", fbs::SoftmaxT(), {g.add_input("x", {1, 4}, fbs::Layout::Same)}),
               fbs::Layout::Same);
  write(g);
  EXPECT_EQ(run({"--graph", "m.html"}).exit_code, 0);
  const std::string html = file("m.html");
  EXPECT_EQ(count(html, "</script>"), 2u) << "its own: of the rows, and of what walks";
  EXPECT_EQ(html.find("<i>"), html.npos);
  EXPECT_EQ(html.find("<b>\""), html.npos);
}

TEST_F(Draw, OneGraphOfSeveral) {
  write(*testing::small_transformer());
  EXPECT_EQ(run({"--graph", "states", "--graph", "s.svg"}).exit_code, 0);
  EXPECT_EQ(run({"--graph", "m.svg"}).exit_code, 0);
  EXPECT_NE(file("s.svg"), file("m.svg"));
}

TEST_F(Draw, InvalidOptionsAreRefused) {
  write(*testing::small_classifier());
  EXPECT_REFUSED(run({"--times"}), "--times goes with --graph FILE.html or FILE.svg");
  EXPECT_REFUSED(run({"--graph", "m.svg", "--json"}), "two ways to show it");
  EXPECT_REFUSED(run({"--graph", "m.pdf"}), "--graph m.pdf: a drawing is written to a file that ends in .html or .svg");
  EXPECT_REFUSED(run({"--graph", "nowhere/m.svg"}), "nowhere");
#if defined(FERRY_HAS_CONVERTER)  // which knows formats by content
  folder_.write("net.onnx", read_text(source_folder() / "tests/data/onnx/cnn/model.onnx"));
  EXPECT_REFUSED(ferry(folder_.path(), {"inspect", "net.onnx", "--graph", "m.svg"}), "convert the file first");
#endif
}

}  // namespace
}  // namespace ferry::cli_test
