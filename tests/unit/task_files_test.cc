// Answers as files, and mattes.
#include <ferry/task.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "sdk/image/codec.h"
#include "sdk/task/holes.h"
#include "sdk/task/save.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

using task::Area;

class AnswerFiles : public ::testing::Test {
 protected:
  std::string path(const char* name) const { return folder_.path() / name; }

  image::View loaded(const char* name) {
    EXPECT_TRUE(image::load(path(name).c_str(), &pixels_).ok());
    return pixels_.view();
  }

  ferry_answer map(ferry_sense sense) const {
    ferry_answer answer{};
    answer.struct_size = sizeof(answer);
    answer.kind = FERRY_ANSWER_MAP;
    answer.map = values_.data();
    answer.width = 3;
    answer.height = 2;
    answer.minimum = 1;
    answer.maximum = 5;
    answer.sense = sense;
    return answer;
  }

  std::vector<float> values_ = {1, 2, 3, 4, 5, NAN};
  ScratchFolder folder_;
  image::Pixels pixels_;
};

TEST_F(AnswerFiles, TheNearestIsWhite) {
  for (const ferry_sense sense : {FERRY_SENSE_NEARNESS, FERRY_SENSE_METRES}) {
    const ferry_answer answer = map(sense);
    ASSERT_EQ(ferry_answer_save(&answer, path("depth.png").c_str(), FERRY_SAVE_PLAIN), FERRY_OK) << ferry_last_error();
    const image::View view = loaded("depth.png");
    ASSERT_EQ(view.width, 3);
    ASSERT_EQ(view.height, 2);
    const bool metres = sense == FERRY_SENSE_METRES;
    const int expected[] = {metres ? 255 : 0, metres ? 191 : 64, 128, metres ? 64 : 191, metres ? 0 : 255, 0};
    for (int i = 0; i < 6; ++i) EXPECT_EQ(view.row(i / 3)[3 * (i % 3)], expected[i]) << i;
  }
}

TEST_F(AnswerFiles, SixteenBitsAreAPngOfTheirOwnWithWholeMillimetres) {
  ferry_answer answer = map(FERRY_SENSE_METRES);
  values_ = {0.5f, 2, 3, 70, -1, NAN};
  answer.map = values_.data();
  ASSERT_EQ(ferry_answer_save(&answer, path("depth.png").c_str(), FERRY_SAVE_16_BIT), FERRY_OK) << ferry_last_error();
  const std::string png = read_text(path("depth.png"));
  EXPECT_EQ(png[24], 16) << "bits";
  EXPECT_EQ(png[25], 0) << "grey";
  // The reader verifies checksums and returns the upper bytes.
  const image::View view = loaded("depth.png");
  const int millimetres[] = {500, 2000, 3000, 65535, 0, 0};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(view.row(i / 3)[3 * (i % 3)], millimetres[i] >> 8) << i;
}

TEST_F(AnswerFiles, AFloatMapHoldsTheNumbersFromTheLastRowOn) {
  const ferry_answer answer = map(FERRY_SENSE_NEARNESS);
  ASSERT_EQ(ferry_answer_save(&answer, path("depth.pfm").c_str(), FERRY_SAVE_PLAIN), FERRY_OK) << ferry_last_error();
  const std::string file = read_text(path("depth.pfm"));
  const std::string header = "Pf\n3 2\n-1.0\n";
  ASSERT_EQ(file.substr(0, header.size()), header);
  ASSERT_EQ(file.size(), header.size() + 6 * sizeof(float));
  float first = 0;
  std::memcpy(&first, file.data() + header.size(), sizeof(first));
  EXPECT_EQ(first, 4.0f);
}

TEST_F(AnswerFiles, ColoursGetBrighterTowardsTheViewer) {
  const ferry_answer answer = map(FERRY_SENSE_NEARNESS);
  ASSERT_EQ(ferry_answer_save(&answer, path("depth.png").c_str(), FERRY_SAVE_COLOURS), FERRY_OK) << ferry_last_error();
  const image::View view = loaded("depth.png");
  int last = -1;
  for (int i = 0; i < 5; ++i) {
    const uint8_t* p = view.row(i / 3) + 3 * (i % 3);
    const int sum = p[0] + p[1] + p[2];
    EXPECT_GT(sum, last);
    last = sum;
  }
}

TEST_F(AnswerFiles, ClassesAreLevelsOrColours) {
  std::vector<uint16_t> labels = {0, 1, 2, 21, 255, 0};
  ferry_class classes[] = {{255, 0.2f, ""}};
  ferry_answer answer{};
  answer.kind = FERRY_ANSWER_LABELS;
  answer.labels = labels.data();
  answer.width = 3;
  answer.height = 2;
  answer.classes = classes;
  answer.class_count = 1;
  ASSERT_EQ(ferry_answer_save(&answer, path("labels.png").c_str(), FERRY_SAVE_PLAIN), FERRY_OK) << ferry_last_error();
  image::View view = loaded("labels.png");
  for (int i = 0; i < 6; ++i) EXPECT_EQ(view.row(i / 3)[3 * (i % 3)], labels[static_cast<size_t>(i)]);
  ASSERT_EQ(ferry_answer_save(&answer, path("labels.png").c_str(), FERRY_SAVE_COLOURS), FERRY_OK);
  view = loaded("labels.png");
  for (int i = 0; i < 6; ++i) {
    const uint8_t* p = view.row(i / 3) + 3 * (i % 3);
    EXPECT_EQ(static_cast<uint32_t>(p[0] << 16 | p[1] << 8 | p[2]), ferry_label_colour(labels[static_cast<size_t>(i)]));
  }
  classes[0].index = 256;
  EXPECT_EQ(ferry_answer_save(&answer, path("no.png").c_str(), FERRY_SAVE_PLAIN), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "class 256 is no level of a grey PNG, which has 256: save colours instead");
  EXPECT_EQ(ferry_answer_save(&answer, path("no.png").c_str(), FERRY_SAVE_16_BIT), FERRY_INVALID_ARGUMENT);
  EXPECT_FALSE(std::filesystem::exists(path("no.png")));
}

TEST_F(AnswerFiles, AnswersWithoutAnImageAreRefused) {
  ferry_answer answer{};
  answer.kind = FERRY_ANSWER_CLASSES;
  EXPECT_EQ(ferry_answer_save(&answer, path("no.png").c_str(), FERRY_SAVE_PLAIN), FERRY_INVALID_ARGUMENT);
  answer = map(FERRY_SENSE_NEARNESS);
  EXPECT_EQ(ferry_answer_save(&answer, path("no/such/depth.png").c_str(), FERRY_SAVE_PLAIN), FERRY_IO_ERROR);
  EXPECT_EQ(ferry_answer_save(&answer, path("no.png").c_str(), static_cast<ferry_save_style>(3)),
            FERRY_INVALID_ARGUMENT);
}

// A pure red ball before pure blue; the matte mixes them at the edge.
class Cut : public AnswerFiles {
 protected:
  static constexpr int kSide = 64;

  void SetUp() override {
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const double alpha = std::clamp((24 - std::hypot(x - 32.0, y - 32.0)) / 8 + 0.5, 0.0, 1.0);
        matte_.push_back(static_cast<uint8_t>(std::lrint(255 * alpha)));
        const double a = matte_.back() / 255.0;
        for (const double level : {230 * a, 10 * a + 20 * (1 - a), 250 * (1 - a)})
          image_pixels_.push_back(static_cast<uint8_t>(std::lrint(level)));
      }
    }
    mask_.kind = FERRY_ANSWER_MASK;
    mask_.mask = matte_.data();
    mask_.width = mask_.height = kSide;
    image_ = {image_pixels_.data(), kSide, kSide, 3 * kSide, false};
  }

  std::vector<uint8_t> matte_, image_pixels_;
  ferry_answer mask_{};
  ferry_image image_{};
};

TEST_F(Cut, ForegroundKeepsItsColourAtTheEdge) {
  const uint8_t white[] = {255, 255, 255};
  const ferry_image background = {const_cast<uint8_t*>(white), 1, 1, 3, false};
  ferry_image out{};
  ASSERT_EQ(ferry_answer_composite(&mask_, &image_, &background, &out), FERRY_OK) << ferry_last_error();
  ASSERT_EQ(out.width, kSide);
  for (int i = 0; i < kSide * kSide; ++i) {
    const double a = matte_[static_cast<size_t>(i)] / 255.0;
    // No blue is left: over white, blue decreases at the ball's edge. In float64 the method's error is 7.9 here.
    EXPECT_NEAR(out.pixels[3 * i], 230 * a + 255 * (1 - a), 8.5) << i;
    EXPECT_NEAR(out.pixels[3 * i + 2], 255 * (1 - a), 8.5) << i;
  }
  // The method's value in float64.
  EXPECT_NEAR(out.pixels[3 * (7 * kSide + 29) + 2], 171.20, 0.6);
  EXPECT_NEAR(out.pixels[3 * (14 * kSide + 17) + 2], 116.85, 0.6);
  ferry_image_free(&out);
}

TEST_F(Cut, IsAPngWithTheMaskAsAlpha) {
  ASSERT_EQ(ferry_answer_save_foreground(&mask_, &image_, path("cut.png").c_str()), FERRY_OK) << ferry_last_error();
  EXPECT_EQ(read_text(path("cut.png"))[25], 6) << "RGB and alpha";
  const image::View view = loaded("cut.png");
  EXPECT_NEAR(view.row(32)[3 * 32], 230, 2);
}

TEST_F(Cut, ABackgroundCoversTheImageFromItsMiddle) {
  // A green stripe in the middle of a wide black image.
  std::vector<uint8_t> wide(256 * 32 * 3);
  for (int y = 0; y < 32; ++y)
    for (int x = 112; x < 144; ++x) wide[static_cast<size_t>((y * 256 + x) * 3 + 1)] = 200;
  const ferry_image background = {wide.data(), 256, 32, 3 * 256, false};
  ferry_image out{};
  ASSERT_EQ(ferry_answer_composite(&mask_, &image_, &background, &out), FERRY_OK) << ferry_last_error();
  EXPECT_NEAR(out.pixels[3 * 8 + 1], 200, 2) << "twice as high, it is 64 wide there";
  ferry_image_free(&out);
}

TEST_F(Cut, MasksOfOtherImagesAreRefused) {
  mask_.width = 32;
  ferry_image out{};
  EXPECT_EQ(ferry_answer_composite(&mask_, &image_, &image_, &out), FERRY_INVALID_ARGUMENT);
  EXPECT_STREQ(ferry_last_error(), "a mask of 32x64 pixels for an image of 64x64: it is of another image");
  mask_.kind = FERRY_ANSWER_MAP;
  EXPECT_EQ(ferry_answer_save_foreground(&mask_, &image_, path("cut.png").c_str()), FERRY_INVALID_ARGUMENT);
  EXPECT_FALSE(std::filesystem::exists(path("cut.png")));
}

// Classes and colours of the Pascal VOC benchmark.
TEST(LabelColours, AreTheBenchmarks) {
  EXPECT_EQ(ferry_label_colour(0), 0x000000u);
  EXPECT_EQ(ferry_label_colour(1), 0x800000u);   // aeroplane
  EXPECT_EQ(ferry_label_colour(2), 0x008000u);   // bicycle
  EXPECT_EQ(ferry_label_colour(15), 0xc08080u);  // person
  EXPECT_EQ(ferry_label_colour(20), 0x004080u);  // monitor
  std::set<uint32_t> colours;
  for (int i = 0; i < 256; ++i) colours.insert(ferry_label_colour(i));
  EXPECT_EQ(colours.size(), 256u);
}

std::vector<Area> holes_in(int width, int height, const std::vector<Area>& covered, int distance) {
  std::vector<uint8_t> mask(static_cast<size_t>(width * height));
  for (const Area& a : covered)
    for (int y = a.top; y < a.bottom; ++y)
      for (int x = a.left; x < a.right; ++x) mask[static_cast<size_t>(y * width + x)] = 255;
  return task::find_holes({mask.data(), width, height, 1, width}, distance);
}

TEST(Holes, NearOnesAreMergedAndFarOnesAreNot) {
  EXPECT_TRUE(holes_in(100, 80, {}, 8).empty());
  const auto same = [](const Area& a, const Area& b) {
    return a.left == b.left && a.top == b.top && a.right == b.right && a.bottom == b.bottom;
  };
  const Area first = {3, 5, 20, 9}, near = {22, 6, 25, 30}, far = {70, 40, 71, 41};
  const std::vector<Area> two = holes_in(100, 80, {first, near, far}, 8);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_TRUE(same(two[0], {3, 5, 25, 30}));
  EXPECT_TRUE(same(two[1], far));
  EXPECT_EQ(holes_in(100, 80, {{0, 0, 100, 80}}, 8).size(), 1u);
  EXPECT_EQ(holes_in(1, 1, {{0, 0, 1, 1}}, 64).size(), 1u);
}

TEST(Holes, LieInTheMiddleOfTheirSurroundingsWhereTheImageHasRoom) {
  const auto expect = [](const Area& a, int left, int top, int right, int bottom) {
    EXPECT_EQ(a.left, left);
    EXPECT_EQ(a.top, top);
    EXPECT_EQ(a.right, right);
    EXPECT_EQ(a.bottom, bottom);
  };
  expect(task::surroundings({90, 50, 110, 60}, 64, 200, 200), 68, 23, 132, 87);  // the network's side
  expect(task::surroundings({80, 50, 120, 60}, 64, 200, 200), 60, 15, 140, 95);  // twice the hole's side
  expect(task::surroundings({0, 190, 10, 200}, 64, 200, 200), 0, 136, 64, 200);  // shifted inside at a corner
  expect(task::surroundings({0, 0, 100, 30}, 64, 120, 40), 0, 0, 120, 40);       // the whole image
}

}  // namespace
}  // namespace ferry
