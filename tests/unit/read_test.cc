// OCR through the C API, with a network whose results are known: red is text; within a line, green is a "g" and blue a
// "b".
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "converter/graph/ops.h"
#include "converter/pack/pack.h"
#include "tests/support/open_task.h"
#include "tests/support/task_networks.h"

namespace ferry {
namespace {

using testing::texts;

// A strip of letters of one length around (x, y), written in the direction of `degrees` (clockwise).
struct Strip {
  double x, y, length, height, degrees;
  std::string letters;

  // Coordinates along and across the strip, relative to half its sides: -1 to 1 inside.
  std::pair<double, double> places(double px, double py) const {
    const double angle = degrees * M_PI / 180, c = std::cos(angle), s = std::sin(angle);
    return {((px - x) * c + (py - y) * s) / (length / 2), ((py - y) * c - (px - x) * s) / (height / 2)};
  }
  double corner(int i) const {
    const double angle = degrees * M_PI / 180, c = std::cos(angle), s = std::sin(angle);
    const int point = i / 2;
    const double a = (point == 1 || point == 2 ? 1 : -1) * length / 2, b = (point >= 2 ? 1 : -1) * height / 2;
    return i % 2 == 0 ? x + a * c - b * s : y + a * s + b * c;
  }
};

// The columns (axis 0) or rows (axis 1) of an image that the strip may cover.
std::pair<int, int> covered(const Strip& strip, int axis, int side) {
  double least = side, most = 0;
  for (int i = axis; i < 8; i += 2) {
    least = std::min(least, strip.corner(i));
    most = std::max(most, strip.corner(i));
  }
  return {std::max(static_cast<int>(least) - 1, 0), std::min(static_cast<int>(most) + 2, side)};
}

class Reading : public ::testing::Test {
 protected:
  void open(const Graph& graph) { task_.emplace(pack(graph)); }

  void paint(int width, int height, const std::vector<Strip>& strips) {
    width_ = width;
    height_ = height;
    pixels_.assign(static_cast<size_t>(3 * width * height), 0);
    for (const Strip& strip : strips) {
      const auto [left, right] = covered(strip, 0, width);
      const auto [top, bottom] = covered(strip, 1, height);
      for (int y = top; y < bottom; ++y) {
        for (int x = left; x < right; ++x) {
          const auto [a, b] = strip.places(x + 0.5, y + 0.5);
          if (std::fabs(a) >= 1 || std::fabs(b) >= 1) continue;
          const char letter =
              strip.letters[static_cast<size_t>((a + 1) / 2 * static_cast<double>(strip.letters.size()))];
          uint8_t* pixel = &pixels_[static_cast<size_t>(3 * (y * width + x))];
          pixel[0] = 255;
          pixel[1] = letter == 'g' ? 230 : 0;
          pixel[2] = letter == 'b' ? 230 : 0;
        }
      }
    }
  }
  ferry_answer run() {
    const ferry_answer answer = task_->run({pixels_.data(), width_, height_, 3 * width_, false});
    EXPECT_EQ(answer.kind, FERRY_ANSWER_LINES);
    return answer;
  }
  // Expects exactly one line, with corners within `tolerance` pixels of the strip's.
  static void expect_one_line(const ferry_answer& answer, const Strip& strip, double tolerance) {
    ASSERT_EQ(answer.line_count, 1u);
    for (int i = 0; i < 8; ++i) EXPECT_NEAR(answer.lines[0].corners[i], strip.corner(i), tolerance) << i;
  }

  static fbs::OcrT exactly(float unclip = 0) {
    fbs::OcrT params;
    params.text_threshold = 0.1f;
    params.threshold = 0.5f;
    params.unclip = unclip;
    return params;
  }

  std::optional<testing::OpenTask> task_;
  std::vector<uint8_t> pixels_;
  int width_ = 0, height_ = 0;
};

TEST_F(Reading, BoxesMatchLinesAtEveryRotation) {
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), exactly()));
  ferry_task_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(ferry_model_task(task_->model(), &info), FERRY_OK);
  EXPECT_EQ(info.kind, FERRY_TASK_OCR);
  EXPECT_EQ(info.answer, FERRY_ANSWER_LINES);
  for (const double degrees : {0.0, 3.0, -8.0, 20.0, -44.0, 46.0, 70.0, -70.0, 90.0}) {
    SCOPED_TRACE(degrees);
    Strip strip = {103.25, 92.5, 120, 18, degrees, "gggb"};
    paint(210, 190, {strip});
    const ferry_answer answer = run();
    ASSERT_EQ(answer.line_count, 1u);
    // A steep line may be read from either end.
    if (std::fabs(degrees) > 45 && answer.lines[0].text == std::string("bg")) strip.degrees += 180;
    EXPECT_STREQ(answer.lines[0].text, strip.degrees == degrees ? "gb" : "bg");
    EXPECT_NEAR(answer.lines[0].score, 0.85, 0.1);
    expect_one_line(answer, strip, 1.0);
  }
}

// A box hardly wider than high is not rotated; PaddleOCR rotates none below 1.5.
TEST_F(Reading, AShortLineStaysUpright) {
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), exactly()));
  for (const double degrees : {0.0, 30.0, -30.0}) {
    const Strip strip = {50, 50, 32, 40, degrees, "g"};
    paint(100, 100, {strip});
    const ferry_answer answer = run();
    ASSERT_NO_FATAL_FAILURE(expect_one_line(answer, strip, 1.0));
    EXPECT_STREQ(answer.lines[0].text, "g");
  }
}

TEST_F(Reading, BoxesGrowByAreaOverPerimeter) {
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), exactly(1.5f)));
  paint(100, 60, {{50, 30, 60, 12, 0, "gb"}});
  const double more = 1.5 * 60 * 12 / (2 * (60 + 12));
  expect_one_line(run(), {50, 30, 60 + 2 * more, 12 + 2 * more, 0, ""}, 0.01);
}

TEST_F(Reading, BoxesAreClippedToTheImage) {
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), exactly(4)));
  paint(60, 20, {{30, 10, 60, 20, 0, "b"}});
  expect_one_line(run(), {30, 10, 60, 20, 0, "b"}, 0);
}

// However the image was resized and padded for the network, boxes are in the image's own pixels.
TEST_F(Reading, BoxesAreInImagePixelsForEveryResize) {
  const Strip strip = {47, 33, 56, 20, 0, "gb"};
  std::vector<fbs::PreprocessT> recipes(4);
  recipes[0].resize_mode = fbs::ResizeMode::Exact;
  recipes[0].resize_h = 192;
  recipes[0].resize_w = 240;
  recipes[1].resize_mode = fbs::ResizeMode::LongestEdge;
  recipes[1].resize_h = recipes[1].crop_h = recipes[1].crop_w = 288;
  recipes[1].corner = true;
  recipes[2].resize_mode = fbs::ResizeMode::PixelBudget;
  recipes[2].multiple_of = 32;
  recipes[2].min_pixels = 160 * 128;
  recipes[2].max_pixels = 1 << 20;
  recipes[3].resize_mode = fbs::ResizeMode::Fit;
  recipes[3].resize_h = recipes[3].resize_w = 200;
  recipes[3].crop_h = recipes[3].crop_w = 220;
  for (size_t i = 0; i < recipes.size(); ++i) {
    SCOPED_TRACE(i);
    open(*testing::colour_reader(32, 32, recipes[i], exactly()));
    paint(96, 64, {strip});
    const ferry_answer answer = run();
    ASSERT_NO_FATAL_FAILURE(expect_one_line(answer, strip, 0.5));
    EXPECT_STREQ(answer.lines[0].text, "gb");
  }
}

TEST_F(Reading, LinesComeFromTopToBottomAndInARowFromLeftToRight) {
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), exactly()));
  paint(240, 120,
        {{180, 18, 60, 12, 0, "bg"},     // right of the first row, higher
         {50, 20, 60, 12, 0, "gb"},      // its left
         {60, 50, 80, 14, 0, "g"},       //
         {170, 80, 60, 12, 2, "bgb"},    // beside the next
         {60, 82, 60, 14, -2, "gbg"}});  //
  EXPECT_EQ(texts(run()), (std::vector<std::string>{"gb", "bg", "g", "gbg", "bgb"}));
}

TEST_F(Reading, RepeatsAreMergedUnlessABlankIsBetween) {
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), exactly()));
  paint(200, 40, {{100, 20, 160, 16, 0, "gg gbb b g"}});
  EXPECT_EQ(texts(run()), (std::vector<std::string>{"ggbbg"}));
}

TEST_F(Reading, UncertainLinesAreDropped) {
  fbs::OcrT params = exactly();
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), params));
  paint(64, 64, {});
  EXPECT_EQ(run().line_count, 0u);
  paint(64, 64, {{30, 30, 40, 2, 0, "g"}});  // too thin
  EXPECT_EQ(run().line_count, 0u);
  paint(64, 64, {{32, 32, 40, 12, 0, "  "}});  // text without recognisable letters
  EXPECT_EQ(run().line_count, 0u);
  paint(64, 64, {{10, 32, 8, 48, 0, "g"}, {32, 52, 48, 8, 0, "g"}});  // an L fills only a small part of its box
  EXPECT_EQ(run().line_count, 0u);
  params.box_threshold = 0.2f;
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), params));
  EXPECT_EQ(run().line_count, 1u);
  params.text_threshold = 0.95f;
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), params));
  EXPECT_EQ(run().line_count, 0u);
}

TEST_F(Reading, AnyMapIsProcessed) {
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), exactly(16)));
  paint(1, 1, {{0.5, 0.5, 4, 4, 0, "g"}});  // below the minimum box size
  EXPECT_EQ(run().line_count, 0u);
  paint(300, 200, {{150, 100, 400, 300, 0, "g"}});
  EXPECT_EQ(run().line_count, 1u);
  paint(2000, 3, {{1000, 1.5, 2000, 3, 0, "bg"}});
  EXPECT_EQ(run().line_count, 1u);
  // More than the limit.
  std::vector<Strip> many;
  for (int i = 0; i < 1200; ++i) many.push_back({i % 40 * 8 + 4.0, i / 40 * 8 + 4.0, 6, 6, 0, "g"});
  open(*testing::colour_reader(32, 32, fbs::PreprocessT(), exactly()));
  paint(320, 240, many);
  EXPECT_EQ(run().line_count, 1000u);
}

// NaN is no text and does not abort the task.
TEST_F(Reading, NotANumberIsNoText) {
  for (const bool in_map : {true, false}) {
    auto graph = testing::colour_reader(32, 32, fbs::PreprocessT(), exactly());
    Graph strange;
    const float infinite = std::numeric_limits<float>::infinity();
    const Tensor x = strange.add_input("input", {1, 32, 32, 3}, fbs::Layout::NCHW);
    const Tensor nothing = slice(x, 3, 1, 1) * strange.add_constant("infinite", {1}, std::vector<float>{infinite});
    strange.add_output("text", in_map ? nothing : slice(x, 3, 0, 1), fbs::Layout::NCHW);
    strange.table.name = "strange";
    strange.table.preprocess = std::move(graph->table.preprocess);
    strange.table.postprocess = std::move(graph->table.postprocess);
    Graph line;
    line.table.name = "line";
    const Tensor y = line.add_input("input", {1, 4, 8, 3}, fbs::Layout::NCHW);
    const Tensor places = reshape(avg_pool2d(y, {.kernel = 4, .stride = 4}), {1, -1, 3});
    line.add_output("classes", places * line.add_constant("infinite", {1}, std::vector<float>{infinite}),
                    fbs::Layout::Same);
    line.table.labels = {"", "g", "b"};
    line.table.preprocess = std::make_unique<fbs::PreprocessT>();
    line.table.preprocess->resize_mode = fbs::ResizeMode::Fit;
    line.table.preprocess->resize_h = 4;
    line.table.preprocess->resize_w = 256;
    strange.add_graph(std::move(line));
    open(strange);
    paint(64, 64, {{32, 32, 40, 12, 0, "gb"}});
    run();
  }
}

}  // namespace
}  // namespace ferry
