// Landmarks through the C API: a detector with a known box and known landmarks, and a graph whose points are corners of
// its crop and whose score is the crop's red.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/graph/ops.h"
#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"
#include "tests/support/open_task.h"
#include "tests/support/task_networks.h"

namespace ferry {
namespace {

constexpr int kWidth = 80, kHeight = 40;

fbs::PreprocessT stretched() {
  fbs::PreprocessT recipe;
  recipe.resize_mode = fbs::ResizeMode::Exact;
  recipe.resize_h = recipe.resize_w = 8;
  return recipe;
}

class LandmarksTask : public ::testing::Test {
 protected:
  // The box is (20, 10) to (40, 20); the landmarks are at `turned`, in pixels.
  void open(const std::array<float, 4>& turned, const fbs::LandmarksT& params) {
    const std::array<float, 4> shares = {turned[0] / kWidth, turned[1] / kHeight, turned[2] / kWidth,
                                         turned[3] / kHeight};
    task_.emplace(pack(*testing::corners_of_box(8, 8, stretched(), {0.25f, 0.25f, 0.5f, 0.5f}, shares, params)));
  }
  ferry_answer run() {
    const ferry_answer answer = task_->run({pixels_.data(), kWidth, kHeight, 3 * kWidth, false});
    EXPECT_EQ(answer.kind, FERRY_ANSWER_BOXES);
    return answer;
  }
  // Fills the image with red where `inside`, and with blue elsewhere.
  template <typename Inside>
  void paint(const Inside& inside) {
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x) {
        uint8_t* pixel = &pixels_[static_cast<size_t>(3 * (y * kWidth + x))];
        pixel[0] = inside(x + 0.5, y + 0.5) ? 255 : 0;
        pixel[1] = 0;
        pixel[2] = static_cast<uint8_t>(255 - pixel[0]);
      }
  }
  void expect_points(const ferry_detection& found, const std::vector<double>& expected) {
    ASSERT_EQ(2 * found.landmark_count, expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.landmarks[i], expected[i], 1e-3) << i;
  }

  std::optional<testing::OpenTask> task_;
  std::vector<uint8_t> pixels_ = std::vector<uint8_t>(size_t{3} * kWidth * kHeight, 255);
};

TEST_F(LandmarksTask, AreThoseOfTheCrop) {
  open({0, 0, 0, 0}, {});
  paint([](double x, double y) { return x > 20 && x < 40 && y > 5 && y < 25; });
  const ferry_answer answer = run();
  ASSERT_EQ(answer.box_count, 1u);
  const ferry_detection& found = answer.boxes[0];
  // A square of the box's longer side.
  expect_points(found, {20, 5, 30, 15, 40, 25});
  EXPECT_NEAR(found.score, 1, 1e-5);
  EXPECT_STREQ(found.label, "green");
  EXPECT_EQ(found.box.left, found.landmarks[0]);
  EXPECT_EQ(found.box.bottom, found.landmarks[5]);
  ASSERT_NE(answer.landmark_scores, nullptr);
  EXPECT_EQ(answer.landmark_scores[2], 0.25f);
  ASSERT_EQ(answer.landmark_name_count, 3u);
  EXPECT_STREQ(answer.landmark_names[1], "middle");
  ASSERT_EQ(answer.landmark_line_count, 2u);
  EXPECT_EQ(answer.landmark_lines[3], 2);
  ferry_task_info info{};
  info.struct_size = sizeof(info);
  ASSERT_EQ(ferry_model_task(task_->model(), &info), FERRY_OK);
  EXPECT_EQ(info.kind, FERRY_TASK_LANDMARKS);
  EXPECT_STREQ(info.name, "landmarks");
}

TEST_F(LandmarksTask, OfObjectsThatAreNotThereAreLeftOut) {
  open({0, 0, 0, 0}, {});
  paint([](double x, double) { return x > 33; });  // two of the six columns that the network sees
  EXPECT_EQ(run().box_count, 0u);
  paint([](double x, double) { return x > 27; });
  EXPECT_EQ(run().box_count, 1u);
}

// The direction between the landmarks, 30 degrees below the horizontal, becomes the vertical: the crop is turned by 120
// degrees clockwise.
TEST_F(LandmarksTask, CropsAreTurnedShiftedAndScaled) {
  fbs::LandmarksT params;
  params.end = 1;
  params.angle = 90;
  params.shift_x = 0.25f;
  params.shift_y = -0.5f;
  params.scale = 1.5f;
  const double degree = M_PI / 180, c = std::cos(120 * degree), s = std::sin(120 * degree);
  open({30, 15, static_cast<float>(30 + 10 * std::cos(30 * degree)),
        static_cast<float>(15 + 10 * std::sin(30 * degree))},
       params);
  // Along the crop's axes: a quarter of the box's width, and half of its height upwards.
  const double x = 30 + 5 * c + 5 * s, y = 15 + 5 * s - 5 * c, half = 15;
  paint([&](double px, double py) {
    const double a = (px - x) * c + (py - y) * s, b = (py - y) * c - (px - x) * s;
    return std::fabs(a) < half && std::fabs(b) < half;
  });
  const ferry_answer answer = run();
  ASSERT_EQ(answer.box_count, 1u);
  const ferry_detection& found = answer.boxes[0];
  expect_points(found, {x - half * c + half * s, y - half * s - half * c, x, y, x + half * c - half * s,
                        y + half * s + half * c});
  EXPECT_NEAR(found.score, 1, 0.02);
}

TEST_F(LandmarksTask, CropsMayLieAroundALandmark) {
  fbs::LandmarksT params;
  params.end = 1;
  params.around_start = true;
  open({50, 20, 50 + 3, 20 + 4}, params);
  paint([](double, double) { return true; });
  const ferry_answer answer = run();
  ASSERT_EQ(answer.box_count, 1u);
  EXPECT_NEAR(answer.boxes[0].landmarks[2], 50, 1e-3);
  EXPECT_NEAR(answer.boxes[0].landmarks[3], 20, 1e-3);
  EXPECT_NEAR(std::hypot(answer.boxes[0].landmarks[0] - 50, answer.boxes[0].landmarks[1] - 20), 5 * M_SQRT2, 1e-3);
}

TEST_F(LandmarksTask, OfNoPlaceAreLeftOut) {
  fbs::LandmarksT params;
  params.end = 1;
  params.around_start = true;
  paint([](double, double) { return true; });
  for (const float place : {INFINITY, -INFINITY, NAN, 1e30f, 0.0f}) {
    open({place, 0, 0, place}, params);
    EXPECT_EQ(run().box_count, 0u) << place;
  }
}

TEST_F(LandmarksTask, SkeletonsAreDrawnWhereTheyAreVisible) {
  open({0, 0, 0, 0}, {});
  paint([](double, double) { return true; });
  const ferry_answer answer = run();
  ferry_image drawn{};
  const ferry_image image = {pixels_.data(), kWidth, kHeight, 3 * kWidth, false};
  ASSERT_EQ(ferry_answer_draw(&answer, &image, &drawn), FERRY_OK) << ferry_last_error();
  const auto changed = [&](int x, int y) {
    const uint8_t* pixel = drawn.pixels + y * drawn.stride + 3 * x;
    return pixel[1] != 0 || pixel[2] != 0 || pixel[0] != 255;
  };
  EXPECT_TRUE(changed(25, 10));   // on the first line
  EXPECT_FALSE(changed(35, 20));  // on the second, which leads to a hidden landmark
  ferry_image_free(&drawn);
}

struct Damage {
  const char* name;
  void (*damage)(fbs::GraphT& root, fbs::LandmarksT& params, fbs::GraphT& points);
  const char* message;
};

class DamagedLandmarks : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedLandmarks, AreRefusedWithAMessage) {
  testing::Parts parts(pack(*testing::corners_of_box(8, 8, stretched(), {0, 0, 1, 1}, {0, 0, 1, 1})));
  fbs::GraphT& root = parts.model;
  GetParam().damage(root, *root.postprocess->params.AsLandmarks(), *root.graphs[0]);
  testing::AlignedBytes bytes(parts.assemble());
  std::shared_ptr<Model> model;
  const Status status = Model::open_memory(bytes.data(), bytes.size(), &model);
  EXPECT_EQ(status.code(), FERRY_CORRUPT);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

using Root = fbs::GraphT;
using Params = fbs::LandmarksT;
INSTANTIATE_TEST_SUITE_P(
    , DamagedLandmarks,
    ::testing::Values(
        Damage{"no_graph", [](Root&, Params& p, Root&) { p.graph = ""; },
               "Landmarks needs another graph and names none"},
        Damage{"another_graph", [](Root&, Params& p, Root&) { p.graph = "hands"; },
               "Landmarks by graph 'hands', which is not there"},
        Damage{"no_detection", [](Root&, Params& p, Root&) { p.detection = nullptr; }, "landmarks of no detection"},
        Damage{"a_threshold", [](Root&, Params& p, Root&) { p.threshold = 2; },
               "the threshold of landmarks is 2, expected 0 to 1"},
        Damage{"a_landmark", [](Root&, Params& p, Root&) { p.end = 2; }, "crops turned by landmark 2 of 2"},
        Damage{"a_scale", [](Root&, Params& p, Root&) { p.scale = 0; }, "crops of scale 0"},
        Damage{"a_shift", [](Root&, Params& p, Root&) { p.shift_x = INFINITY; }, "shifted by inf"},
        Damage{"an_angle", [](Root&, Params& p, Root&) { p.angle = NAN; }, "turned by nan"},
        Damage{"names", [](Root&, Params& p, Root&) { p.detection->points = {"one"}; }, "1 names of 3 landmarks"},
        Damage{"half_a_line", [](Root&, Params& p, Root&) { p.detection->lines = {1}; }, "1 ends of lines"},
        Damage{"a_line",
               [](Root&, Params& p, Root&) {
                 p.detection->lines = {0, 3};
               },
               "a line to landmark 3 of 3"},
        Damage{"resized_crops", [](Root&, Params&, Root& g) { g.preprocess->crop_h = g.preprocess->crop_w = 4; },
               "expected a crop in colour"},
        Damage{"no_points", [](Root&, Params&, Root& g) { g.outputs[0]->name = "places"; }, "no output 'points'"},
        Damage{"no_score", [](Root&, Params&, Root& g) { g.outputs[1]->name = "scores"; }, "no output 'score'"},
        Damage{"swapped_outputs", [](Root&, Params&, Root& g) { std::swap(g.outputs[2]->name, g.outputs[3]->name); },
               "output 'point_scores' is Float32 [1,2], expected Float32 [1,3]"}),
    [](const auto& damage) { return damage.param.name; });

}  // namespace
}  // namespace ferry
