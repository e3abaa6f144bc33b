// Crops, colours, tiles and classes: the steps between an image, a network and its answer.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sdk/image/classify.h"
#include "sdk/image/preprocess.h"
#include "sdk/image/tiles.h"

namespace ferry {
namespace {

using image::Classes;
using image::View;
using Bytes = std::vector<uint8_t>;

// Preprocessing as stored in a blob.
class Recipe {
 public:
  explicit Recipe(const fbs::PreprocessT& recipe) { builder_.Finish(fbs::Preprocess::Pack(builder_, &recipe)); }
  const fbs::Preprocess& operator*() const {
    return *flatbuffers::GetRoot<fbs::Preprocess>(builder_.GetBufferPointer());
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

// The network's input for the image, in levels; patches one after the other.
Bytes prepared(const fbs::PreprocessT& recipe, const View& image) {
  const Recipe packed(recipe);
  image::Prepared seen;
  Status s = image::prepare(*packed, image, &seen);
  EXPECT_TRUE(s.ok()) << s.message();
  std::vector<float> levels(static_cast<size_t>(seen.height * seen.width * seen.view.channels * recipe.patch_frames));
  s = image::normalize(*packed, seen, levels.data());
  EXPECT_TRUE(s.ok()) << s.message();
  Bytes bytes;
  for (const float level : levels) bytes.push_back(static_cast<uint8_t>(std::lrint(level * 255)));
  return bytes;
}

Status scaled(const fbs::PreprocessT& recipe, const View& image, float* out) {
  return image::normalize(*Recipe(recipe), {image, image.height, image.width}, out);
}

// The width and height that an image of this size is resized to.
std::pair<int, int> resized(fbs::PreprocessT recipe, int width, int height) {
  const Bytes image(static_cast<size_t>(width * height * 3), 5);
  recipe.filter = fbs::Filter::Nearest;
  image::Prepared out;
  const Status s = image::prepare(*Recipe(recipe), {image.data(), width, height, 3, 3 * width}, &out);
  EXPECT_TRUE(s.ok()) << s.message();
  return {out.view.width, out.view.height};
}

fbs::PreprocessT resizing(fbs::ResizeMode mode, int height, int width = 0) {
  fbs::PreprocessT recipe;
  recipe.resize_mode = mode;
  recipe.resize_h = height;
  recipe.resize_w = width;
  return recipe;
}

using Sides = std::pair<int, int>;

// Grey pixels as RGB, one row.
Bytes rgb_row(std::initializer_list<uint8_t> levels) {
  Bytes row;
  for (uint8_t level : levels) row.insert(row.end(), 3, level);
  return row;
}

fbs::PreprocessT centre_crop(int width, int height, bool floor = false) {
  fbs::PreprocessT recipe;
  recipe.crop_w = width;
  recipe.crop_h = height;
  recipe.crop_floor = floor;
  return recipe;
}

TEST(Crop, AnOddMarginGoesToTheEvenSideAsInTorchvision) {
  const Bytes five = rgb_row({0, 1, 2, 3, 4}), seven = rgb_row({0, 1, 2, 3, 4, 5, 6});
  const View row5 = {five.data(), 5, 1, 3, 15}, row7 = {seven.data(), 7, 1, 3, 21};
  EXPECT_EQ(prepared(centre_crop(4, 1), row5), rgb_row({0, 1, 2, 3}));  // round(0.5) = 0
  EXPECT_EQ(prepared(centre_crop(2, 1), row5), rgb_row({2, 3}));        // round(1.5) = 2
  EXPECT_EQ(prepared(centre_crop(2, 1), row7), rgb_row({2, 3}));        // round(2.5) = 2
  EXPECT_EQ(prepared(centre_crop(3, 1), row7), rgb_row({2, 3, 4}));     // 2
}

TEST(Crop, AnOddMarginGoesDownIfItFollowsTransformers) {
  const Bytes five = rgb_row({0, 1, 2, 3, 4});
  EXPECT_EQ(prepared(centre_crop(2, 1, true), {five.data(), 5, 1, 3, 15}), rgb_row({1, 2}));
}

TEST(Crop, ACropLargerThanTheImagePadsWithZeros) {
  const Bytes two = rgb_row({8, 9});
  EXPECT_EQ(prepared(centre_crop(5, 1), {two.data(), 2, 1, 3, 6}), rgb_row({0, 8, 9, 0, 0}));
}

TEST(Crop, ASmallImageIsPaddedWithTheFill) {
  const Bytes two = rgb_row({8, 9});
  fbs::PreprocessT recipe = centre_crop(5, 1);
  recipe.fill = {1.0f, 0.0f, 51 / 255.0f};
  EXPECT_EQ(prepared(recipe, {two.data(), 2, 1, 3, 6}), (Bytes{255, 0, 51, 8, 8, 8, 9, 9, 9, 255, 0, 51, 255, 0, 51}));
  recipe = centre_crop(3, 2);
  recipe.corner = true;
  EXPECT_EQ(prepared(recipe, {two.data(), 2, 1, 3, 6}), rgb_row({8, 9, 0, 0, 0, 0}));
}

TEST(Crop, CutsOneAxisAndFillsTheOther) {
  const Bytes column = rgb_row({1, 2, 3, 4});  // 1 wide, 4 high
  EXPECT_EQ(prepared(centre_crop(3, 2), {column.data(), 1, 4, 3, 3}), rgb_row({0, 2, 0, 0, 3, 0}));
}

TEST(Preprocess, ShortestEdgeTruncatesTheLongerSide) {
  const auto recipe = resizing(fbs::ResizeMode::ShortestEdge, 5);
  EXPECT_EQ(resized(recipe, 10, 7), (Sides{7, 5}));  // 5 * 10 / 7 = 7.14
  EXPECT_EQ(resized(recipe, 7, 10), (Sides{5, 7}));
}

TEST(Preprocess, LongestEdgeRoundsHalvesUp) {
  const auto recipe = resizing(fbs::ResizeMode::LongestEdge, 8);
  EXPECT_EQ(resized(recipe, 16, 5), (Sides{8, 3}));  // 2.5
  EXPECT_EQ(resized(recipe, 5, 16), (Sides{3, 8}));
  EXPECT_EQ(resized(recipe, 4, 2), (Sides{8, 4}));
}

TEST(Preprocess, CoverAndFitKeepTheProportionsAndRoundHalvesToEven) {
  EXPECT_EQ(resized(resizing(fbs::ResizeMode::Cover, 10, 20), 30, 30), (Sides{20, 20}));
  EXPECT_EQ(resized(resizing(fbs::ResizeMode::Fit, 10, 20), 30, 30), (Sides{10, 10}));
  EXPECT_EQ(resized(resizing(fbs::ResizeMode::Fit, 8, 8), 16, 5), (Sides{8, 2}));    // 2.5
  EXPECT_EQ(resized(resizing(fbs::ResizeMode::Cover, 2, 2), 11, 4), (Sides{6, 2}));  // 5.5
}

TEST(Preprocess, LeastScalingFollowsTheSideThatChangesLessAndRoundsToMultiples) {
  auto recipe = resizing(fbs::ResizeMode::LeastScaling, 28, 28);
  recipe.multiple_of = 7;
  EXPECT_EQ(resized(recipe, 30, 20), (Sides{28, 21}));  // by 28/30: 28 x 18.7
  EXPECT_EQ(resized(recipe, 20, 30), (Sides{21, 28}));
}

TEST(Preprocess, APixelBudgetRoundsToMultiplesAndHoldsTheArea) {
  auto recipe = resizing(fbs::ResizeMode::PixelBudget, 0);
  recipe.multiple_of = 4;
  recipe.min_pixels = 64;
  recipe.max_pixels = 400;
  EXPECT_EQ(resized(recipe, 10, 13), (Sides{8, 12}));    // 2.5 to even, 3.25
  EXPECT_EQ(resized(recipe, 100, 40), (Sides{28, 12}));  // down: 31.6 x 12.6
  EXPECT_EQ(resized(recipe, 8, 4), (Sides{12, 8}));      // up: 11.3 x 5.7
}

TEST(Preprocess, AspectRatiosOf200AreRefusedForPatches) {
  auto recipe = resizing(fbs::ResizeMode::PixelBudget, 0);
  recipe.multiple_of = recipe.patch = 1;
  recipe.max_pixels = 1 << 20;
  EXPECT_EQ(resized(recipe, 400, 2), (Sides{400, 2}));
  int width = 0, height = 0;
  EXPECT_EQ(image::resized(*Recipe(recipe), 2, 401, &width, &height).code(), FERRY_INVALID_ARGUMENT);
}

TEST(Preprocess, PatchesComeInBlocksChannelsFirstAndTheFramesRepeated) {
  Bytes image;  // 4 wide, 2 high; red counts, green is 100, blue 200
  for (uint8_t i = 0; i < 8; ++i) image.insert(image.end(), {i, 100, 200});
  fbs::PreprocessT recipe;
  recipe.patch = 1;
  recipe.patch_block = 2;
  recipe.patch_frames = 2;
  Bytes expected;
  for (uint8_t red : {0, 1, 4, 5, 2, 3, 6, 7}) expected.insert(expected.end(), {red, red, 100, 100, 200, 200});
  EXPECT_EQ(prepared(recipe, {image.data(), 4, 2, 3, 12}), expected);
  recipe.patch = 2;
  recipe.patch_block = recipe.patch_frames = 1;
  expected.clear();
  for (uint8_t first : {0, 2})
    expected.insert(expected.end(), {first, static_cast<uint8_t>(first + 1), static_cast<uint8_t>(first + 4),
                                     static_cast<uint8_t>(first + 5), 100, 100, 100, 100, 200, 200, 200, 200});
  EXPECT_EQ(prepared(recipe, {image.data(), 4, 2, 3, 12}), expected);
}

TEST(Preprocess, AnImageThatPatchesDoNotCoverIsRefusedWithItsSides) {
  const Bytes image(6 * 2 * 3, 5);
  fbs::PreprocessT recipe;
  recipe.patch = 2;
  recipe.patch_block = 2;
  float out[36];
  const Status s = scaled(recipe, {image.data(), 6, 2, 3, 18}, out);
  EXPECT_EQ(s.code(), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(s.message(), "an image of 6x2 pixels cannot be cut into blocks of 2x2 patches of 2 pixels each");
}

TEST(Preprocess, AnAbsurdAspectIsRefusedWithTheSizes) {
  const Bytes image(30000 * 3, 5);
  fbs::PreprocessT recipe;
  recipe.resize_mode = fbs::ResizeMode::ShortestEdge;
  recipe.resize_h = 256;
  const Recipe packed(recipe);
  image::Prepared out;
  const Status s = image::prepare(*packed, {image.data(), 30000, 1, 3, 90000}, &out);
  EXPECT_EQ(s.code(), FERRY_INVALID_ARGUMENT);
  EXPECT_NE(s.message().find("30000x1"), std::string::npos) << s.message();
}

TEST(Preprocess, GreyIsPillowsLuma) {
  const Bytes rgb = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255};
  fbs::PreprocessT recipe;
  recipe.color = fbs::ColorOrder::Gray;
  EXPECT_EQ(prepared(recipe, {rgb.data(), 4, 1, 3, 12}), (Bytes{76, 150, 29, 255}));
}

TEST(Preprocess, MeansAndDeviationsBelongToTheTensorsChannels) {
  const Bytes rgb = {0, 51, 255};
  fbs::PreprocessT recipe;
  recipe.mean = {0.5f, 0.25f, 0.0f};
  recipe.std = {0.5f, 1.0f, 2.0f};
  float out[3];
  ASSERT_TRUE(scaled(recipe, {rgb.data(), 1, 1, 3, 3}, out).ok());
  EXPECT_FLOAT_EQ(out[0], -1.0f);
  EXPECT_FLOAT_EQ(out[1], -0.05f);
  EXPECT_FLOAT_EQ(out[2], 0.5f);
  recipe.color = fbs::ColorOrder::BGR;
  ASSERT_TRUE(scaled(recipe, {rgb.data(), 1, 1, 3, 3}, out).ok());
  EXPECT_FLOAT_EQ(out[0], 1.0f);
  EXPECT_FLOAT_EQ(out[1], -0.05f);
  EXPECT_FLOAT_EQ(out[2], 0.0f);
}

TEST(Preprocess, WithoutMeansTheImageIsOnZeroToOne) {
  const Bytes rgb = {0, 51, 255};
  float out[3];
  ASSERT_TRUE(scaled(fbs::PreprocessT(), {rgb.data(), 1, 1, 3, 3}, out).ok());
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_EQ(out[1], 51 / 255.0f);
  EXPECT_EQ(out[2], 1.0f);
}

TEST(Preprocess, MeansForAnotherNumberOfChannelsAreRefused) {
  const Bytes rgb = {0, 51, 255};
  fbs::PreprocessT recipe;
  recipe.mean = {0.5f};
  float out[3];
  EXPECT_EQ(scaled(recipe, {rgb.data(), 1, 1, 3, 3}, out).code(), FERRY_INVALID_ARGUMENT);
}

TEST(Tiles, CoverEveryPixelOnceWithTheirHaloOrTheImagesBorder) {
  for (int length : {1, 2, 7, 31, 32, 33, 64, 100, 257, 1000}) {
    for (int tile : {1, 2, 5, 16, 100, 2000}) {
      for (int halo : {0, 1, 3, 18}) {
        const image::TileAxis axis(length, tile, halo);
        int next = 0;
        for (int i = 0; i < axis.count(); ++i) {
          const image::Tile t = axis.at(i);
          const int end = t.begin + axis.extent();
          ASSERT_GE(t.begin, 0);
          ASSERT_LE(end, length);
          ASSERT_EQ(t.keep_begin, next);
          ASSERT_GE(t.keep_end, t.keep_begin);
          next = t.keep_end;
          if (t.keep_begin == t.keep_end) continue;
          ASSERT_TRUE(t.begin == 0 || t.begin <= t.keep_begin - halo);
          ASSERT_TRUE(end == length || end >= t.keep_end + halo);
          ASSERT_TRUE(axis.count() == 1 || axis.extent() <= tile + 2 * halo);
        }
        ASSERT_EQ(next, length) << length << " " << tile << " " << halo;
      }
    }
  }
}

TEST(Tiles, AreOfMultiplesWhereANetworkWantsThem) {
  for (int multiple : {2, 4, 5}) {
    for (int length : {multiple, 4 * multiple, 60, 1000}) {
      for (int tile : {1, 7, 16, 100, 2000}) {
        for (int halo : {0, 1, 10}) {
          const image::TileAxis axis(length, tile, halo, multiple);
          ASSERT_EQ(axis.extent() % multiple, 0);
          int next = 0;
          for (int i = 0; i < axis.count(); ++i) {
            const image::Tile t = axis.at(i);
            ASSERT_EQ(t.begin % multiple, 0);
            ASSERT_EQ(t.keep_begin, next);
            next = t.keep_end;
            ASSERT_EQ(next % multiple, 0);
            if (t.keep_begin == t.keep_end) continue;
            ASSERT_TRUE(t.begin == 0 || t.begin <= t.keep_begin - halo);
            ASSERT_TRUE(t.begin + axis.extent() == length || t.begin + axis.extent() >= t.keep_end + halo);
          }
          ASSERT_EQ(next, length) << length << " " << tile << " " << halo << " " << multiple;
        }
      }
    }
  }
}

TEST(Tiles, AnImageThatFitsIsNotCut) {
  EXPECT_EQ(image::TileAxis(100, 64, 18).count(), 1);
  EXPECT_EQ(image::TileAxis(101, 64, 18).count(), 2);
  EXPECT_EQ(image::TileAxis(101, 64, 18).extent(), 69);  // two of 69 overlapping by 2 halos (37), not 100 and 37
}

TEST(TopClasses, AreSortedAndEqualOnesKeepTheirOrder) {
  const float logits[] = {1, 3, 2, 3, -1};
  ferry_class top[3];
  image::top_classes(logits, 5, Classes::Exclusive, top, 3);
  EXPECT_EQ(top[0].index, 1);
  EXPECT_EQ(top[1].index, 3);
  EXPECT_EQ(top[2].index, 2);
}

TEST(TopClasses, ProbabilitiesAreTheSoftmaxOverAllClasses) {
  const float logits[] = {0, std::log(2.0f), std::log(5.0f)};
  ferry_class top[2];
  image::top_classes(logits, 3, Classes::Exclusive, top, 2);
  EXPECT_NEAR(top[0].probability, 5.0 / 8, 1e-6);
  EXPECT_NEAR(top[1].probability, 2.0 / 8, 1e-6);
}

TEST(TopClasses, HugeLogitsDoNotOverflow) {
  const float logits[] = {10000, 9999, -10000};
  ferry_class top[3];
  image::top_classes(logits, 3, Classes::Exclusive, top, 3);
  EXPECT_NEAR(top[0].probability, 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(top[2].probability, 0.0f);
}

TEST(TopClasses, IndependentOnesHaveTheSigmoidOfTheirLogit) {
  const float logits[] = {0, std::log(3.0f), -1000, 1000};
  ferry_class top[4];
  image::top_classes(logits, 4, Classes::Independent, top, 4);
  EXPECT_EQ(top[0].probability, 1.0f);
  EXPECT_EQ(top[1].index, 1);
  EXPECT_NEAR(top[1].probability, 0.75, 1e-6);
  EXPECT_EQ(top[2].probability, 0.5f);
  EXPECT_EQ(top[3].probability, 0.0f);
}

TEST(UnitLength, DividesByTheEuclideanLengthAndLeavesZerosAlone) {
  const float values[] = {3e30f, 0, -4e30f}, zeros[] = {0, 0, 0};  // the squares overflow a float
  float out[3];
  image::unit_length(values, 3, out);
  EXPECT_FLOAT_EQ(out[0], 0.6f);
  EXPECT_EQ(out[1], 0.0f);
  EXPECT_FLOAT_EQ(out[2], -0.8f);
  image::unit_length(zeros, 3, out);
  EXPECT_EQ(out[2], 0.0f);
}

TEST(TopClasses, NotANumberComesLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float logits[] = {nan, 1, nan, 2};
  ferry_class top[4];
  image::top_classes(logits, 4, Classes::Exclusive, top, 4);
  EXPECT_EQ(top[0].index, 3);
  EXPECT_EQ(top[1].index, 1);
  EXPECT_EQ(top[2].index, 0);
}

}  // namespace
}  // namespace ferry
