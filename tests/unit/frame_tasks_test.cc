// Tasks on frames: answers are in pixels of the upright image, as if that image had been given.
#include <gtest/gtest.h>

#include <cmath>

#include "converter/pack/pack.h"
#include "tests/support/open_task.h"
#include "tests/support/task_networks.h"

namespace ferry {
namespace {

constexpr int kWide = 60, kHigh = 36;

// Red increases to the right, green downwards, and a corner is blue.
struct Levels {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;

  const uint8_t* at(int x, int y) const { return &rgb[static_cast<size_t>((y * width + x) * 3)]; }
};

Levels upright_image() {
  Levels p{kWide, kHigh, {}};
  for (int y = 0; y < kHigh; ++y) {
    for (int x = 0; x < kWide; ++x) {
      const int blue = x > 40 && y > 20 ? 250 : 0;
      for (const int level : {4 * x, 3 * y, blue}) p.rgb.push_back(static_cast<uint8_t>(level));
    }
  }
  return p;
}

Levels turned_once(const Levels& p) {  // clockwise
  Levels next{p.height, p.width, {}};
  for (int y = 0; y < next.height; ++y) {
    for (int x = 0; x < next.width; ++x)
      next.rgb.insert(next.rgb.end(), p.at(y, p.height - 1 - x), p.at(y, p.height - 1 - x) + 3);
  }
  return next;
}

Levels mirrored(const Levels& p) {
  Levels next{p.width, p.height, {}};
  for (int y = 0; y < p.height; ++y) {
    for (int x = 0; x < p.width; ++x)
      next.rgb.insert(next.rgb.end(), p.at(p.width - 1 - x, y), p.at(p.width - 1 - x, y) + 3);
  }
  return next;
}

// A frame that shows that image after rotation and mirroring.
struct Turned {
  Turned(const Levels& upright, int rotation, bool mirror) : pixels(mirror ? mirrored(upright) : upright) {
    for (int turned = rotation; turned < 360; turned += 90) pixels = turned_once(pixels);
    frame.struct_size = sizeof(frame);
    frame.format = FERRY_FRAME_RGB;
    frame.width = pixels.width;
    frame.height = pixels.height;
    frame.planes[0] = {pixels.rgb.data(), pixels.rgb.size(), 0, 0};
    frame.rotation = rotation;
    frame.mirror = mirror;
  }

  Levels pixels;
  ferry_frame frame{};
};

// An answer's values, scaled so that one level of the input changes each by at most 1.
std::vector<double> numbers(const ferry_answer& answer) {
  std::vector<double> out = {double(answer.width), double(answer.height)};
  const size_t pixels = static_cast<size_t>(answer.width) * static_cast<size_t>(answer.height);
  for (size_t i = 0; i < answer.vector_size; ++i) out.push_back(double{answer.vector[i]} * 255);
  for (size_t i = 0; answer.map != nullptr && i < pixels; ++i) out.push_back(double{answer.map[i]} * 255);
  for (size_t i = 0; answer.labels != nullptr && i < pixels; ++i) out.push_back(answer.labels[i]);
  // A prompted mask is 0 or 255.
  for (size_t i = 0; answer.mask != nullptr && i < pixels; ++i) out.push_back(answer.mask[i] / 64);
  for (size_t i = 0; i < answer.class_count; ++i) out.push_back(double{answer.classes[i].probability});
  for (size_t i = 0; i < answer.box_count; ++i) {
    const ferry_detection& d = answer.boxes[i];
    for (const float place : {d.box.left, d.box.top, d.box.right, d.box.bottom}) out.push_back(double{place});
    for (size_t k = 0; k < 2 * d.landmark_count; ++k) out.push_back(double{d.landmarks[k]});
    out.push_back(double{d.score} * 255);
  }
  return out;
}

fbs::PreprocessT recipe_of(fbs::ResizeMode mode, int height, int width, int crop = 0) {
  fbs::PreprocessT recipe;
  recipe.resize_mode = mode;
  recipe.resize_h = height;
  recipe.resize_w = width;
  recipe.crop_h = recipe.crop_w = crop;
  return recipe;
}

std::vector<std::pair<const char*, std::unique_ptr<Graph>>> networks() {
  const auto cut = recipe_of(fbs::ResizeMode::ShortestEdge, 32, 0, 28),
             padded = recipe_of(fbs::ResizeMode::Fit, 40, 40, 40);
  std::vector<std::pair<const char*, std::unique_ptr<Graph>>> all;
  all.emplace_back("classes", testing::small_classifier());
  all.emplace_back("a map across, of an image that is cut", testing::colour_as_depth(28, 28, 0, cut));
  all.emplace_back("a map downwards, of an image that is cut", testing::colour_as_depth(28, 28, 1, cut));
  all.emplace_back("a map across, of a padded image", testing::colour_as_depth(40, 40, 0, padded));
  all.emplace_back("a map downwards, of a padded image", testing::colour_as_depth(40, 40, 1, padded));
  all.emplace_back("labels", testing::brightest_colour());
  all.emplace_back("a matte", testing::red_in_front());
  all.emplace_back("a mask by prompts", testing::colour_masks());
  all.emplace_back("a box", testing::one_box(40, 40, padded, {0.25f, 0.4f, 0.5f, 0.6f}));
  fbs::LandmarksT turned;
  turned.end = 1;
  turned.threshold = 0;
  all.emplace_back("landmarks", testing::corners_of_box(40, 40, padded, {0.25f, 0.4f, 0.5f, 0.6f},
                                                        {0.3f, 0.4f, 0.5f, 0.5f}, turned));
  return all;
}

TEST(FrameTasks, AnswerForTheUprightImage) {
  Levels upright = upright_image();
  ferry_image image = {upright.rgb.data(), kWide, kHigh, 3 * kWide, false};
  const ferry_point point = {50, 30, false};
  for (const auto& [name, graph] : networks()) {
    testing::OpenTask task(pack(*graph));
    ferry_request request{};
    request.struct_size = sizeof(request);
    request.image = &image;
    if (std::string(name) == "a mask by prompts") request.points = &point, request.point_count = 1;
    const std::vector<double> expected = numbers(task.run(request));
    EXPECT_GT(expected.size(), 2u);
    request.image = nullptr;
    for (int orientation = 0; orientation < 8; ++orientation) {
      SCOPED_TRACE(std::string(name) + ", orientation " + std::to_string(orientation));
      const Turned turned(upright, orientation / 2 * 90, orientation % 2 != 0);
      request.frame = &turned.frame;
      const std::vector<double> got = numbers(task.run(request));
      ASSERT_EQ(got.size(), expected.size());
      size_t apart = 0;
      for (size_t i = 0; i < got.size(); ++i) apart += std::fabs(got[i] - expected[i]) > 1.001;
      // At class borders and mask edges, one level decides.
      EXPECT_LE(apart, got.size() / 100);
    }
  }
}

TEST(FrameTasks, AnswerAgainWithoutTheFrame) {
  const Turned turned(upright_image(), 90, false);
  testing::OpenTask task(pack(*testing::colour_masks()));
  const ferry_point point = {50, 30, false}, beyond = {kWide + 1, 30, false};
  ferry_request request{};
  request.struct_size = sizeof(request);
  request.frame = &turned.frame;
  request.points = &point;
  request.point_count = 1;
  const std::vector<double> first = numbers(task.run(request));
  request.frame = nullptr;
  EXPECT_EQ(numbers(task.run(request)), first);
  request.points = &beyond;
  ferry_answer answer{};
  answer.struct_size = sizeof(answer);
  EXPECT_EQ(ferry_task_run(task.get(), &request, &answer), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "point 61,30 lies outside the image, which has 60x36 pixels");
}

TEST(FrameTasks, RefuseFramesIfTheyNeedTheImagesPixels) {
  const Turned turned(upright_image(), 0, false);
  ferry_request request{};
  request.struct_size = sizeof(request);
  request.frame = &turned.frame;
  ferry_answer answer{};
  answer.struct_size = sizeof(answer);
  std::vector<std::pair<std::string, std::unique_ptr<Graph>>> all;
  all.emplace_back("image to image", testing::small_upscaler());
  all.emplace_back("inpainting", testing::gray_painter());
  all.emplace_back("OCR", testing::colour_reader(8, 8, recipe_of(fbs::ResizeMode::Exact, 8, 8)));
  for (const auto& [name, graph] : all) {
    const testing::OpenTask task(pack(*graph));
    EXPECT_EQ(ferry_task_run(task.get(), &request, &answer), FERRY_INVALID_ARGUMENT);
    EXPECT_EQ(ferry_last_error(), name + " needs RGB pixels: set request.image instead of request.frame");
  }
}

TEST(FrameTasks, TakeAnImageOrAFrame) {
  Levels upright = upright_image();
  const Turned turned(upright, 0, false);
  const ferry_image image = {upright.rgb.data(), kWide, kHigh, 3 * kWide, false};
  const testing::OpenTask task(pack(*testing::small_classifier()));
  ferry_request request{};
  request.struct_size = sizeof(request);
  request.frame = &turned.frame;
  request.image = &image;
  ferry_answer answer{};
  answer.struct_size = sizeof(answer);
  EXPECT_EQ(ferry_task_run(task.get(), &request, &answer), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "request.image and request.frame are both set: one of them is the image");
  request.image = nullptr;
  request.frame = nullptr;
  EXPECT_EQ(ferry_task_run(task.get(), &request, &answer), FERRY_INVALID_ARGUMENT);
  // A caller compiled before frames existed.
  request.image = &image;
  request.struct_size = offsetof(ferry_request, frame);
  request.frame = reinterpret_cast<const ferry_frame*>(1);
  EXPECT_EQ(ferry_task_run(task.get(), &request, &answer), FERRY_OK) << ferry_last_error();
}

}  // namespace
}  // namespace ferry
