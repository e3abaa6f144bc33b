// Tasks through the C API: answers in the image's own pixels.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "converter/graph/ops.h"
#include "converter/pack/pack.h"
#include "tests/support/open_task.h"
#include "tests/support/task_networks.h"

namespace ferry {
namespace {

// An image whose colour at (x, y) is `colour(x, y)`, {r, g, b}.
class Image {
 public:
  template <typename Colour>
  Image(int width, int height, const Colour& colour) {
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const std::array<int, 3> rgb = colour(x, y);
        for (const int c : rgb) pixels_.push_back(static_cast<uint8_t>(c));
      }
    }
    image_ = {pixels_.data(), width, height, 3 * width, false};
  }
  const ferry_image* get() const { return &image_; }
  const uint8_t* at(int x, int y) const { return &pixels_[static_cast<size_t>((y * image_.width + x) * 3)]; }

 private:
  std::vector<uint8_t> pixels_;
  ferry_image image_;
};

class Tasks : public ::testing::Test {
 protected:
  void open(const Graph& graph) { task_.emplace(pack(graph)); }

  static ferry_request request_for(const Image* image) {
    ferry_request request{};
    request.struct_size = sizeof(request);
    if (image != nullptr) request.image = image->get();
    return request;
  }
  ferry_answer run(const ferry_request& request) { return task_->run(request); }
  // The message that refuses a request.
  std::string refused(const ferry_request& request) {
    ferry_answer answer{};
    answer.struct_size = sizeof(answer);
    EXPECT_EQ(ferry_task_run(task_->get(), &request, &answer), FERRY_INVALID_ARGUMENT);
    EXPECT_EQ(answer.kind, FERRY_ANSWER_NONE);
    return ferry_last_error();
  }
  static ferry_task_info info_of(ferry_model* model) {
    ferry_task_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(ferry_model_task(model, &info), FERRY_OK);
    return info;
  }
  ferry_task_info info() const { return info_of(task_->model()); }

  std::optional<testing::OpenTask> task_;
};

fbs::PreprocessT recipe_of(fbs::ResizeMode mode, int height, int width, int crop_h = 0, int crop_w = 0) {
  fbs::PreprocessT recipe;
  recipe.resize_mode = mode;
  recipe.resize_h = height;
  recipe.resize_w = width;
  recipe.crop_h = crop_h;
  recipe.crop_w = crop_w;
  return recipe;
}

struct Mode {
  const char* name;
  fbs::PreprocessT recipe;
};

std::vector<Mode> all_modes() {
  using Of = fbs::ResizeMode;
  std::vector<Mode> modes = {
      {"none", recipe_of(Of::None, 0, 0)},
      {"shortest edge, cropped", recipe_of(Of::ShortestEdge, 40, 0, 36, 36)},
      {"exact", recipe_of(Of::Exact, 50, 30)},
      {"longest edge, in the corner", recipe_of(Of::LongestEdge, 48, 0, 48, 48)},
      {"longest edge, in the middle", recipe_of(Of::LongestEdge, 48, 0, 48, 48)},
      {"cover, cropped", recipe_of(Of::Cover, 32, 40, 32, 40)},
      {"fit, padded", recipe_of(Of::Fit, 44, 44, 44, 44)},
      {"least scaling", recipe_of(Of::LeastScaling, 42, 42)},
      {"pixel budget", recipe_of(Of::PixelBudget, 0, 0)},
  };
  modes[3].recipe.corner = true;
  modes[7].recipe.multiple_of = 14;
  modes[8].recipe.multiple_of = 8;
  modes[8].recipe.max_pixels = 1600;
  return modes;
}

// Red increases from left to right, green from top to bottom, so that a colour identifies its pixel.
constexpr int kStep = 3;
std::array<int, 3> ramp(int x, int y) { return {kStep * x, kStep * y, 0}; }

TEST_F(Tasks, MapsAlignWithTheImageForEveryPreprocessing) {
  for (const Mode& mode : all_modes()) {
    for (const auto& [width, height] : {std::pair(64, 45), std::pair(33, 70), std::pair(80, 80)}) {
      const Image image(width, height, ramp);
      for (int axis = 0; axis < 2; ++axis) {
        SCOPED_TRACE(std::string(mode.name) + ", " + std::to_string(width) + "x" + std::to_string(height) +
                     (axis == 0 ? ", x" : ", y"));
        open(*testing::colour_as_depth(8, 8, axis, mode.recipe));
        const ferry_answer answer = run(request_for(&image));
        ASSERT_EQ(answer.kind, FERRY_ANSWER_MAP);
        ASSERT_EQ(answer.width, width);
        ASSERT_EQ(answer.height, height);
        ASSERT_NE(answer.map, nullptr);
        EXPECT_EQ(answer.vector, nullptr) << "a field is filled for its own kind only";
        // Away from edges that were cut off, or between which and the last cell nothing is known.
        double largest = 0, sum = 0;
        int count = 0;
        const int cut_x = width * 7 / 20, cut_y = height * 7 / 20;
        for (int y = cut_y; y < height - cut_y; ++y) {
          for (int x = cut_x; x < width - cut_x; ++x) {
            const double place = double{answer.map[y * width + x]} * 255 / kStep;
            const double difference = std::fabs(place - (axis == 0 ? x : y));
            largest = std::max(largest, difference);
            sum += difference;
            ++count;
          }
        }
        EXPECT_LE(largest, 0.5);
        EXPECT_LE(sum / count, 0.5 / kStep + 0.01) << "more than an image's levels are rounded by";
      }
    }
  }
}

TEST_F(Tasks, DepthReportsItsRangeAndDirection) {
  const Image image(20, 10, [](int x, int) { return std::array{10 * x, 0, 0}; });
  for (const bool metric : {false, true}) {
    open(*testing::colour_as_depth(8, 8, 0, recipe_of(fbs::ResizeMode::None, 0, 0), metric));
    EXPECT_EQ(info().kind, FERRY_TASK_DEPTH);
    EXPECT_EQ(info().answer, FERRY_ANSWER_MAP);
    EXPECT_STREQ(info().name, "depth");
    const ferry_answer answer = run(request_for(&image));
    EXPECT_EQ(answer.sense, metric ? FERRY_SENSE_METRES : FERRY_SENSE_NEARNESS);
    EXPECT_EQ(answer.minimum, 0.0f);
    EXPECT_FLOAT_EQ(answer.maximum, 190 / 255.0f);
    EXPECT_EQ(answer.labels, nullptr);
    EXPECT_EQ(answer.mask, nullptr);
  }
}

TEST_F(Tasks, LabelsAreTheLargestScoresWithALegendByShare) {
  open(*testing::brightest_colour());
  // A quarter is blue, the rest red.
  const Image image(96, 64, [](int x, int) { return x < 72 ? std::array{200, 10, 20} : std::array{0, 40, 180}; });
  const ferry_answer answer = run(request_for(&image));
  ASSERT_EQ(answer.kind, FERRY_ANSWER_LABELS);
  ASSERT_EQ(answer.width, 96);
  ASSERT_EQ(answer.class_count, 2u);
  EXPECT_EQ(answer.classes[0].index, 0);
  EXPECT_STREQ(answer.classes[0].label, "red");
  EXPECT_STREQ(answer.classes[1].label, "blue");
  EXPECT_NEAR(answer.classes[0].probability, 0.75, 0.03);
  EXPECT_FLOAT_EQ(answer.classes[0].probability + answer.classes[1].probability, 1);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 96; ++x) {
      if (x >= 68 && x < 76) continue;  // at the border
      ASSERT_EQ(answer.labels[y * 96 + x], x < 72 ? 0 : 2) << x << ", " << y;
    }
  }
}

TEST_F(Tasks, ClassesAndVectorsAreThoseOfASession) {
  open(*testing::small_classifier());
  const Image image(20, 14, [](int x, int y) { return std::array{x * 9, y * 13, 77}; });
  ferry_request request = request_for(&image);
  request.top = 3;
  const ferry_answer answer = run(request);
  ASSERT_EQ(answer.kind, FERRY_ANSWER_CLASSES);
  ASSERT_EQ(answer.class_count, 3u);
  ferry_session* session = nullptr;
  ASSERT_EQ(ferry_session_create(task_->model(), nullptr, &session), FERRY_OK);
  ASSERT_EQ(ferry_session_set_image(session, image.get()), FERRY_OK);
  ASSERT_EQ(ferry_session_run(session), FERRY_OK);
  ferry_class classes[3];
  size_t count = 3;
  ASSERT_EQ(ferry_session_top_classes(session, classes, &count), FERRY_OK);
  ferry_session_close(session);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(answer.classes[i].index, classes[i].index);
    EXPECT_EQ(answer.classes[i].probability, classes[i].probability);
  }
  request.top = 1000;
  EXPECT_EQ(run(request).class_count, 5u);
}

TEST_F(Tasks, UpscalingReportsItsTiles) {
  open(*testing::small_upscaler());
  EXPECT_EQ(info().prompts, uint32_t{FERRY_PROMPT_TILE});
  const Image image(40, 30, [](int x, int y) { return std::array{x * 5, y * 7, 50}; });
  ferry_request request = request_for(&image);
  request.tile = 16;
  int tiles = 0;
  request.progress = [](void* user, int32_t done, int32_t total) {
    EXPECT_LE(done, total);
    *static_cast<int*>(user) = total;
  };
  request.user = &tiles;
  const ferry_answer answer = run(request);
  ASSERT_EQ(answer.kind, FERRY_ANSWER_IMAGE);
  EXPECT_EQ(answer.image.width, 80);
  EXPECT_EQ(answer.image.height, 60);
  EXPECT_FALSE(answer.image.owned);
  EXPECT_GT(tiles, 1);
}

// No network runs between two tiles: the next one must notice the cancel. The next run is not affected.
TEST_F(Tasks, CancelBetweenTwoTilesEndsTheRun) {
  open(*testing::small_upscaler());
  const Image image(100, 20, ramp);
  ferry_request request = request_for(&image);
  request.tile = 16;
  std::pair<ferry_task*, int> seen = {task_->get(), 0};
  request.progress = [](void* user, int32_t done, int32_t) {
    auto& [task, parts] = *static_cast<std::pair<ferry_task*, int>*>(user);
    parts = done;
    if (done == 2) ferry_task_cancel(task);
  };
  request.user = &seen;
  ferry_answer answer{};
  answer.struct_size = sizeof(answer);
  EXPECT_EQ(ferry_task_run(task_->get(), &request, &answer), FERRY_CANCELLED);
  EXPECT_EQ(seen.second, 2);
  request.progress = nullptr;
  EXPECT_EQ(run(request).kind, FERRY_ANSWER_IMAGE);
}

TEST_F(Tasks, OnlyTheMaskIsInpainted) {
  open(*testing::gray_painter());
  EXPECT_EQ(info().prompts, uint32_t{FERRY_PROMPT_MASK});
  for (const auto& [width, height] : {std::pair(70, 50), std::pair(8, 8), std::pair(5, 21)}) {
    const Image image(width, height, [](int x, int y) { return std::array{x * 3 % 256, y * 4 % 256, 9}; });
    // Two distant holes, one of them in a corner.
    const auto hole = [w = width, h = height](int x, int y) {
      return (x < 2 && y < 2) || (x > w / 2 && x < w / 2 + 3 && y > 2 * h / 3 && y < 2 * h / 3 + 4);
    };
    const Image mask(width, height, [&](int x, int y) {
      return hole(x, y) ? std::array{128, 0, 0} : std::array{127, 255, 255};
    });
    ferry_request request = request_for(&image);
    request.mask = mask.get();
    int holes = 0;
    request.progress = [](void* user, int32_t, int32_t total) { *static_cast<int*>(user) = total; };
    request.user = &holes;
    const ferry_answer answer = run(request);
    ASSERT_EQ(answer.kind, FERRY_ANSWER_IMAGE);
    ASSERT_EQ(answer.image.width, width);
    EXPECT_EQ(holes, width == 70 ? 2 : holes);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const uint8_t* got = answer.image.pixels + y * answer.image.stride + 3 * x;
        for (int c = 0; c < 3; ++c) ASSERT_EQ(got[c], hole(x, y) ? 128 : image.at(x, y)[c]) << x << ", " << y;
      }
    }
  }
}

TEST_F(Tasks, EmptyMasksChangeNothingAndFullMasksEverything) {
  open(*testing::gray_painter());
  const Image image(30, 20, ramp);
  ferry_request request = request_for(&image);
  for (const int level : {0, 255}) {
    const Image mask(30, 20, [&](int, int) { return std::array{level, level, level}; });
    request.mask = mask.get();
    const ferry_answer answer = run(request);
    EXPECT_EQ(answer.image.pixels[3 * 17], level == 0 ? kStep * 17 : 128);
  }
}

TEST_F(Tasks, MasksThatAreMissingOrOfAnotherSizeAreRefused) {
  open(*testing::gray_painter());
  const Image image(30, 20, ramp), mask(30, 21, ramp);
  ferry_request request = request_for(&image);
  EXPECT_EQ(refused(request), "no mask: this model inpaints the pixels under a mask of the image's size");
  request.mask = mask.get();
  EXPECT_EQ(refused(request), "a mask of 30x21 pixels for an image of 30x20: they must be of one size");
}

// Left half red, right half green and brighter.
const Image& halves() {
  static const Image image(64, 32, [](int x, int) { return x < 32 ? std::array{200, 0, 0} : std::array{0, 250, 0}; });
  return image;
}

TEST_F(Tasks, PromptsChooseAMaskInTheImagesPixels) {
  open(*testing::colour_masks());
  EXPECT_EQ(info().prompts, uint32_t{FERRY_PROMPT_POINTS});
  ferry_request request = request_for(&halves());
  const ferry_point points[] = {{50, 10, false}, {5, 5, true}};
  request.points = points;
  request.point_count = 1;
  ferry_answer answer = run(request);
  ASSERT_EQ(answer.kind, FERRY_ANSWER_MASK);
  ASSERT_EQ(answer.width, 64);
  ASSERT_EQ(answer.height, 32);
  // One point: the best of the masks after the first, which is green's.
  const auto covers_float16 = [&](bool left) {
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 64; ++x) {
        if (std::abs(x - 32) <= 4 || y >= 28) continue;  // at the border, or the padding below
        ASSERT_EQ(answer.mask[y * 64 + x], (x < 32) == left ? 255 : 0) << x << ", " << y;
      }
    }
  };
  covers_float16(false);
  EXPECT_NEAR(answer.quality, 250 / 255.0 / 4, 1e-3);
  // Several points: the first mask, red's. No image is needed to ask again.
  request.image = nullptr;
  request.point_count = 2;
  answer = run(request);
  covers_float16(true);
  request.mask_index = 2;
  answer = run(request);
  covers_float16(false);
  // The previous mask adds to all of them.
  request.mask_index = 1;
  request.refine = true;
  answer = run(request);
  EXPECT_EQ(answer.mask[10 * 64 + 10], 0);
  // Without it the result is as before; with another image it is that image's.
  request.refine = false;
  for (int i = 0; i < 2; ++i) {
    answer = run(request);
    covers_float16(true);
  }
  const Image dark(64, 32, [](int, int) { return std::array{0, 0, 0}; });
  request.image = dark.get();
  for (const bool with_image : {true, false}) {
    if (!with_image) request.image = nullptr;
    answer = run(request);
    EXPECT_EQ(std::count(answer.mask, answer.mask + 64 * 32, 255), 0);
  }
}

TEST_F(Tasks, ABoxAndPointsReachTheNetworkInItsPixels) {
  open(*testing::colour_masks());
  ferry_request request = request_for(&halves());
  const ferry_point point = {32, 16, false};
  const ferry_box box = {8, 4, 40, 20};
  request.points = &point;
  request.point_count = 1;
  request.box = &box;
  const ferry_answer answer = run(request);
  EXPECT_EQ(answer.mask[16 * 64 + 8], 255) << "several prompts choose the first mask";
}

TEST_F(Tasks, InvalidPromptsAreRefused) {
  open(*testing::colour_masks());
  ferry_request request = request_for(&halves());
  EXPECT_EQ(refused(request), "no prompt: give points or a box");
  ferry_point point = {65, 3, false};
  request.points = &point;
  request.point_count = 1;
  EXPECT_EQ(refused(request), "point 65,3 lies outside the image, which has 64x32 pixels");
  point = {NAN, 3, false};
  EXPECT_EQ(refused(request), "point nan,3 lies outside the image, which has 64x32 pixels");
  point = {3, 3, false};
  ferry_box box = {10, 10, 10, 20};
  request.box = &box;
  EXPECT_EQ(refused(request), "box 10,10,10,20 is empty: it goes from left and top to right and bottom");
  box = {70, 10, 80, 20};
  EXPECT_EQ(refused(request), "box 70,10,80,20 lies outside the image, which has 64x32 pixels");
  request.box = nullptr;
  request.image = nullptr;
  EXPECT_EQ(refused(request), "no image: the first run needs one");
  request.image = halves().get();
  request.mask_index = 4;
  EXPECT_EQ(refused(request), "mask 4: the network outputs 3; 0 selects the best");
  request.mask_index = 0;
  request.refine = true;
  EXPECT_EQ(refused(request), "no mask to refine: the last run gave none for this image");
  request.points = nullptr;
  EXPECT_EQ(refused(request), "request.points is NULL but request.point_count is 1");
}

TEST_F(Tasks, MattesAreSoftAtEdges) {
  open(*testing::red_in_front());
  EXPECT_EQ(info().kind, FERRY_TASK_MATTING);
  const Image image(9, 4, [](int x, int) { return std::array{x < 4 ? 255 : x == 4 ? 128 : 0, 0, 0}; });
  const ferry_answer answer = run(request_for(&image));
  ASSERT_EQ(answer.kind, FERRY_ANSWER_MASK);
  ASSERT_EQ(answer.width, 9);
  EXPECT_EQ(answer.quality, 0);
  EXPECT_EQ(answer.mask[9 + 0], 255);
  EXPECT_NEAR(answer.mask[9 + 4], 255 / (1 + std::exp(-32 * (128 / 255.0 - 0.5))), 1);
  EXPECT_EQ(answer.mask[9 + 8], 0);
}

// Boxes are in the image's pixels for any preprocessing: the box's corners are the image position whose red dot the
// network sees.
TEST_F(Tasks, BoxesAlignWithTheImageForEveryPreprocessing) {
  for (const Mode& mode : all_modes()) {
    for (const auto& [width, height] : {std::pair(64, 45), std::pair(33, 70), std::pair(80, 80)}) {
      SCOPED_TRACE(std::string(mode.name) + ", " + std::to_string(width) + "x" + std::to_string(height));
      // The network's view of this image: a map of its positions.
      const Image image(width, height, ramp);
      double at[2];
      int seen_height = 0, seen_width = 0;
      for (int axis = 0; axis < 2; ++axis) {
        open(*testing::colour_as_depth(8, 8, axis, mode.recipe));
        run(request_for(&image));
        ferry_tensor input;
        ASSERT_EQ(ferry_session_input(ferry_task_session(task_->get()), 0, &input), FERRY_OK);
        seen_height = input.shape[1];
        seen_width = input.shape[2];
        const auto* values = static_cast<const float*>(input.data);
        // A position outside of the padding.
        const int place = (seen_height * 3 / 8) * seen_width + seen_width * 3 / 8;
        at[axis] = static_cast<double>(values[3 * place + axis]) * 255 / kStep;
      }
      // The middle of that cell, as the corner of a box that extends to the end of the input.
      const auto middle = [](int side) { return (static_cast<float>(side * 3 / 8) + 0.5f) / static_cast<float>(side); };
      const std::array<float, 4> box = {middle(seen_width), middle(seen_height), 1, 1};
      open(*testing::one_box(seen_height, seen_width, mode.recipe, box));
      const ferry_answer answer = run(request_for(&image));
      ASSERT_EQ(answer.kind, FERRY_ANSWER_BOXES);
      ASSERT_EQ(answer.box_count, 1u);
      const ferry_detection& found = answer.boxes[0];
      // A pixel's colour is that of its middle.
      EXPECT_NEAR(found.box.left, at[0] + 0.5, 0.5);
      EXPECT_NEAR(found.box.top, at[1] + 0.5, 0.5);
      EXPECT_LE(found.box.right, width);
      EXPECT_LE(found.box.bottom, height);
      ASSERT_EQ(found.landmark_count, 1u);
      EXPECT_EQ(found.landmarks[0], found.box.left);
      EXPECT_EQ(found.landmarks[1], found.box.top);
      EXPECT_STREQ(found.label, "");
    }
  }
}

// An image of 8x4 pixels that encodes these boxes, scores and landmarks for boxes_of_colours(), in 1/250.
struct EncodedRow {
  int box[4], scores[2], landmarks[4];
};
Image image_of_rows(const std::vector<EncodedRow>& rows) {
  return Image(8, 4, [&](int x, int y) {
    if (x >= 4 || y >= static_cast<int>(rows.size())) return std::array{0, 0, 0};
    const EncodedRow& row = rows[static_cast<size_t>(y)];
    return std::array{row.box[x], x < 2 ? row.scores[x] : 0, row.landmarks[x]};
  });
}

// Its levels are on 0..1.02; 250 is 1.
fbs::PreprocessT in_250ths() {
  fbs::PreprocessT recipe = recipe_of(fbs::ResizeMode::None, 0, 0);
  recipe.mean = {0, 0, 0};
  recipe.std = {250 / 255.0f, 250 / 255.0f, 250 / 255.0f};
  return recipe;
}

TEST_F(Tasks, OverlappingBoxesOfAClassAreSuppressed) {
  fbs::DetectionT params;
  params.threshold = 0.3f;
  params.overlap = 0.5f;
  // The second covers 180 of the 200 that both cover; the third has another class; the fourth is elsewhere.
  const Image image = image_of_rows({{{0, 0, 100, 100}, {150, 0}, {}},
                                     {{10, 0, 110, 100}, {200, 0}, {5, 10, 15, 20}},
                                     {{0, 0, 100, 100}, {0, 100}, {}},
                                     {{125, 125, 250, 250}, {80, 70}, {}}});
  const auto answered = [&](const fbs::DetectionT& of) {
    open(*testing::boxes_of_colours(4, 8, in_250ths(), of));
    const ferry_answer answer = run(request_for(&image));
    std::vector<int> rows;
    for (size_t i = 0; i < answer.box_count; ++i)
      rows.push_back(static_cast<int>(std::lround(answer.boxes[i].score * 250)));
    return rows;
  };
  EXPECT_EQ(answered(params), (std::vector<int>{200, 100, 80}));
  params.across_classes = true;
  EXPECT_EQ(answered(params), (std::vector<int>{200, 80}));
  params.overlap = 1;
  EXPECT_EQ(answered(params), (std::vector<int>{200, 150, 100, 80}));
  params.maximum = 3;
  EXPECT_EQ(answered(params), (std::vector<int>{200, 150, 100}));
  params.threshold = 0.1f;
  params.maximum = 100;
  EXPECT_EQ(answered(params), (std::vector<int>{200, 150, 100, 80, 70}));
  params.threshold = 0.9f;
  EXPECT_EQ(answered(params), std::vector<int>{});

  params = {};
  open(*testing::boxes_of_colours(4, 8, in_250ths(), params));
  EXPECT_EQ(info().kind, FERRY_TASK_DETECTION);
  EXPECT_EQ(info().answer, FERRY_ANSWER_BOXES);
  const ferry_answer answer = run(request_for(&image));
  ASSERT_EQ(answer.box_count, 1u);
  const ferry_detection& best = answer.boxes[0];
  EXPECT_EQ(best.index, 0);
  EXPECT_STREQ(best.label, "red");
  EXPECT_NEAR(best.box.left, 8 * 10 / 250.0, 1e-4);
  EXPECT_NEAR(best.box.right, 8 * 110 / 250.0, 1e-4);
  EXPECT_NEAR(best.box.bottom, 4 * 100 / 250.0, 1e-4);
  ASSERT_EQ(best.landmark_count, 2u);
  const double expected[] = {8 * 5 / 250.0, 4 * 10 / 250.0, 8 * 15 / 250.0, 4 * 20 / 250.0};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(best.landmarks[i], expected[i], 1e-4);
}

TEST_F(Tasks, BoxesAreClippedToTheImageAndEmptyOnesDropped) {
  fbs::DetectionT params;
  fbs::PreprocessT recipe = in_250ths();
  recipe.mean = {50 / 255.0f, 0, 0};  // red on -0.2..0.82
  open(*testing::boxes_of_colours(4, 8, recipe, params));
  const Image image = image_of_rows({{{0, 0, 175, 100}, {200, 0}, {}},      // begins outside the image
                                     {{100, 100, 100, 200}, {220, 0}, {}},  // no width
                                     {{200, 50, 100, 200}, {230, 0}, {}},   // left and right exchanged
                                     {{0, 0, 50, 50}, {240, 0}, {}}});      // ends where the image begins
  const ferry_answer answer = run(request_for(&image));
  ASSERT_EQ(answer.box_count, 1u);
  EXPECT_EQ(answer.boxes[0].box.left, 0);
  EXPECT_EQ(answer.boxes[0].box.top, 0);
  EXPECT_NEAR(answer.boxes[0].box.right, 4, 1e-4);
}

// A blob converted for one image size whose output changes with the size.
TEST_F(Tasks, BoxesThatFollowTheImagesSizeAreRefused) {
  Graph graph;
  const Tensor red = slice(graph.add_input("input", {1, 4, 4, 3}, fbs::Layout::NCHW), 3, 0, 1);
  graph.add_output("boxes", reshape(red, {0, 0, -1}), fbs::Layout::Same);
  graph.add_output("scores", reshape(red * 1.0, {0, 0, -1}), fbs::Layout::Same);
  graph.table.preprocess = std::make_unique<fbs::PreprocessT>();
  graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
  graph.table.postprocess->task = fbs::Task::Detection;
  graph.table.postprocess->params.Set(fbs::DetectionT());
  open(graph);
  const Image square(4, 4, ramp), narrow(2, 4, ramp);
  EXPECT_EQ(run(request_for(&square)).kind, FERRY_ANSWER_BOXES);
  const ferry_request request = request_for(&narrow);
  ferry_answer answer{};
  answer.struct_size = sizeof(answer);
  EXPECT_EQ(ferry_task_run(task_->get(), &request, &answer), FERRY_SHAPE_MISMATCH);
  EXPECT_STREQ(ferry_last_error(),
               "output 0 has 4 rows of 2 values, which do not match the boxes of an image of this size");
}

TEST_F(Tasks, BoxesAreDrawnOnTheirImage) {
  const Image image(64, 48, [](int, int) { return std::array{9, 9, 9}; });
  open(*testing::one_box(8, 8, recipe_of(fbs::ResizeMode::Exact, 8, 8), {0.25f, 0.25f, 0.75f, 0.5f}));
  const ferry_answer answer = run(request_for(&image));
  ferry_image drawn{};
  ASSERT_EQ(ferry_answer_draw(&answer, image.get(), &drawn), FERRY_OK) << ferry_last_error();
  ASSERT_EQ(drawn.width, 64);
  ASSERT_EQ(drawn.height, 48);
  const uint32_t colour = 0xbf0000;  // the colour of label 1, lighter
  for (int y = 0; y < 48; ++y) {
    for (int x = 0; x < 64; ++x) {
      const bool within = x >= 15 && x < 49 && y >= 11 && y < 25, inside = x >= 17 && x < 47 && y >= 13 && y < 23;
      const bool landmark = x >= 14 && x < 19 && y >= 10 && y < 15;
      const uint8_t* pixel = drawn.pixels + y * drawn.stride + 3 * x;
      const uint32_t got = uint32_t{pixel[0]} << 16 | uint32_t{pixel[1]} << 8 | pixel[2];
      ASSERT_EQ(got, landmark || (within && !inside) ? colour : 0x090909u) << x << ", " << y;
    }
  }
  ferry_image_free(&drawn);
  open(*testing::red_in_front());
  const ferry_answer mask = run(request_for(&image));
  EXPECT_EQ(ferry_answer_draw(&mask, image.get(), &drawn), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "an answer of kind MASK cannot be drawn: only BOXES and LINES can, on their image");
}

TEST_F(Tasks, RequestsOfOtherVersionsAreReadUpToTheirSize) {
  open(*testing::small_classifier());
  const Image image(20, 14, ramp);
  struct Later {
    ferry_request request;
    uint64_t unknown;
  } later = {request_for(&image), 0};
  later.request.struct_size = sizeof(later);
  run(later.request);
  later.unknown = 1;
  EXPECT_NE(refused(later.request).find("holds a field that ferry"), std::string::npos);
  ferry_request request = request_for(&image);
  request.struct_size = 0;
  EXPECT_EQ(refused(request), "struct_size is 0: set it to sizeof(ferry_request)");
  request = request_for(&image);
  request.top = -1;
  EXPECT_EQ(refused(request), "request.top is -1 and request.tile 0: must be 0 or more");
  EXPECT_EQ(refused(request_for(nullptr)), "request.image is NULL: this task needs one at each run");
  ferry_answer answer{};
  request = request_for(&image);
  EXPECT_EQ(ferry_task_run(task_->get(), &request, &answer), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "struct_size is 0: set it to sizeof(ferry_answer)");
}

TEST_F(Tasks, ModelsWithoutATaskAreRefused) {
  testing::AlignedBytes bytes(pack(*testing::small_mixture()));
  ferry_model* model = nullptr;
  ASSERT_EQ(ferry_model_open_memory(bytes.data(), bytes.size(), &model), FERRY_OK) << ferry_last_error();
  EXPECT_EQ(info_of(model).kind, FERRY_TASK_TENSORS);
  EXPECT_EQ(info_of(model).answer, FERRY_ANSWER_NONE);
  ferry_task* task = nullptr;
  EXPECT_EQ(ferry_task_open(model, nullptr, &task), FERRY_UNSUPPORTED);
  EXPECT_NE(std::string(ferry_last_error()).find("has the task 'tensors', which needs a session or a generator"),
            std::string::npos);
  EXPECT_EQ(task, nullptr);
  ferry_model_close(model);
}

}  // namespace
}  // namespace ferry
