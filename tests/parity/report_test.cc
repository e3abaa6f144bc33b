#include "cli/parity/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace ferry::parity {
namespace {

Row row(const std::string& name, double error, bool good = true) {
  Row out;
  out.name = "tap/" + name;
  out.module = name;
  out.shape = {1, 4, 2, 2};
  out.compared = 16;
  out.absmax = 2;
  out.relative_error = error;
  out.max_abs_error = 2 * error;
  out.squared_error = 1e-12;
  out.floor = 5e-7;
  out.bound = kRelativeBound;
  out.worst = {0, 3, 1, 0};
  out.worst_ours = 1.5;
  out.worst_reference = 1.25;
  out.in_bounds = good;
  return out;
}

Report report(std::vector<Row> rows) {
  Report out;
  out.comparison.rows = std::move(rows);
  out.blob = "net.ferry";
  out.model = "net<1>";
  out.fixture = "fixture";
  out.library = "numpy 1";
  out.backend = "cpu";
  return out;
}

TEST(TextReport, HasOneLinePerTensorAndASummary) {
  const std::string text = text_report(report({row("layer1.0", 1.5e-6), row("layer1.1", 2.5e-6)}), {});
  EXPECT_EQ(
      text,
      "net<1> (net.ferry) against fixture (numpy 1), cpu\n\n"
      "name          shape     max abs err    rel err     sq err      floor  verdict\n"
      "tap/layer1.0  1x4x2x2       3.0e-06    1.5e-06    1.0e-12    5.0e-07  ok\n"
      "tap/layer1.1  1x4x2x2       5.0e-06    2.5e-06    1.0e-12    5.0e-07  ok\n\n"
      "in bounds: 2 tensors compared, all in bounds; worst relative error 2.5e-06 at tap/layer1.1 (the reference's "
      "own float32 error there: 5.0e-07).\n");
}

TEST(TextReport, NamesTheFirstOutOfBoundsAndMissingOutputs) {
  Report r = report({row("a", 1e-6), row("b", 3e-3, false), row("c", 9e-3, false)});
  r.comparison.missing = {"logits"};
  r.comparison.not_in_blob = {"tap/x", "tap/y"};
  const std::string text = text_report(r, {});
  EXPECT_NE(text.find("OUT OF BOUNDS: 3 tensors compared, 2 out of bounds"), std::string::npos) << text;
  EXPECT_NE(text.find("the first out of bounds is tap/b, bound 1.0e-04 of the maximum, at [0,3,1,0]: 1.5, the "
                      "reference has 1.25"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("the blob lacks 1 output that it must hold: logits"), std::string::npos) << text;
  EXPECT_NE(text.find("2 inner taps not in the blob"), std::string::npos) << text;
  EXPECT_EQ(text.find("tap/x"), std::string::npos);
  EXPECT_NE(text_report(r, {.verbose = true}).find("tap/x  not in blob"), std::string::npos);
}

TEST(TextReport, IsColouredOnlyWhenAsked) {
  const Report r = report({row("a", 1e-6), row("b", 1, false)});
  EXPECT_EQ(text_report(r, {}).find('\033'), std::string::npos);
  EXPECT_NE(text_report(r, {.color = true}).find("\033[1;31mOUT OF BOUNDS\033[0m"), std::string::npos);
}

TEST(TextReport, SaysIfNothingWasCompared) {
  EXPECT_NE(text_report(report({}), {}).find("OUT OF BOUNDS: nothing was compared"), std::string::npos);
}

TEST(JsonReport, HoldsEveryRow) {
  Report r = report({row("a", 1e-6), row("b", std::nan(""), false)});
  r.comparison.rows[1].problem = "the result has a NaN";
  const auto json = nlohmann::json::parse(json_report(r));
  EXPECT_EQ(json["format"], "ferry-parity/1");
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["first_out_of_bounds"], "tap/b");
  EXPECT_EQ(json["worst"], "tap/b");
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0]["relative_error"], 1e-6);
  EXPECT_EQ(json["rows"][0]["shape"], nlohmann::json({1, 4, 2, 2}));
  EXPECT_TRUE(json["rows"][1]["relative_error"].is_null());
  EXPECT_EQ(json["rows"][1]["problem"], "the result has a NaN");
}

TEST(HtmlReport, IsSelfContained) {
  Report r = report({row("layer1.0.a<b", 1e-6), row("layer1.0", 2e-6), row("fc", 0)});
  const std::string page = html_report(r);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("href="), std::string::npos);
  EXPECT_EQ(page.find("url("), std::string::npos);
  EXPECT_NE(page.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(page.find("net&lt;1&gt;"), std::string::npos);
  EXPECT_EQ(page.find("net<1>"), std::string::npos) << "names are escaped";
  EXPECT_NE(page.find("a&lt;b"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

TEST(Plot, MarksEveryTensorAndTheFirstOutOfBounds) {
  const Report r = report({row("a", 1e-6), row("b", 3e-3, false), row("c", std::nan(""), false)});
  const std::string svg = plot_svg(r);
  size_t columns = 0;
  for (size_t at = 0; (at = svg.find("class=\"col\"", at)) != std::string::npos; ++at) ++columns;
  EXPECT_EQ(columns, 3u);
  EXPECT_NE(svg.find("first out of bounds: tap/b"), std::string::npos);
  EXPECT_EQ(svg.find("first out of bounds: tap/c"), std::string::npos);
  EXPECT_EQ(svg.find("\"nan"), std::string::npos) << "no coordinate is a NaN";
  EXPECT_GT(svg.find(">bound: 1e-4"), svg.rfind("<circle")) << "points lie on what the bound is";
}

TEST(Plot, OfNoRowsIsValidSvg) {
  const std::string svg = plot_svg(report({}));
  EXPECT_EQ(svg.find("class=\"col\""), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace ferry::parity
