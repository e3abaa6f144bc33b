// Crops, colours, tiles and classes: the steps between a picture, a network and its answer.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sdk/image/classify.h"
#include "sdk/image/preprocess.h"
#include "sdk/image/tiles.h"

namespace ferry {
namespace {

using image::View;
using Bytes = std::vector<uint8_t>;

// A recipe as it lies in a blob.
class Recipe {
 public:
  explicit Recipe(const fbs::PreprocessT& recipe) { builder_.Finish(fbs::Preprocess::Pack(builder_, &recipe)); }
  const fbs::Preprocess& operator*() const {
    return *flatbuffers::GetRoot<fbs::Preprocess>(builder_.GetBufferPointer());
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

Bytes prepared(const fbs::PreprocessT& recipe, const View& picture) {
  const Recipe packed(recipe);
  image::Prepared out;
  const Status s = image::prepare(*packed, picture, &out);
  EXPECT_TRUE(s.ok()) << s.message();
  Bytes bytes;
  for (int y = 0; y < out.view.height; ++y) {
    bytes.insert(bytes.end(), out.view.row(y), out.view.row(y) + out.view.width * out.view.channels);
  }
  return bytes;
}

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

TEST(Crop, AnOddMarginGoesDownAsInTransformersWhereTheRecipeSaysSo) {
  const Bytes five = rgb_row({0, 1, 2, 3, 4});
  EXPECT_EQ(prepared(centre_crop(2, 1, true), {five.data(), 5, 1, 3, 15}), rgb_row({1, 2}));
}

TEST(Crop, ACropLargerThanThePicturePadsWithZeros) {
  const Bytes two = rgb_row({8, 9});
  EXPECT_EQ(prepared(centre_crop(5, 1), {two.data(), 2, 1, 3, 6}), rgb_row({0, 8, 9, 0, 0}));
}

TEST(Preprocess, ShortestEdgeTruncatesTheLongerSide) {
  const Bytes picture(10 * 7 * 3, 5);
  fbs::PreprocessT recipe;
  recipe.resize_mode = fbs::ResizeMode::ShortestEdge;
  recipe.resize_h = 5;
  const Recipe packed(recipe);
  image::Prepared out;
  ASSERT_TRUE(image::prepare(*packed, {picture.data(), 10, 7, 3, 30}, &out).ok());
  EXPECT_EQ(out.view.width, 7);  // 5 * 10 / 7 = 7.14
  EXPECT_EQ(out.view.height, 5);
  ASSERT_TRUE(image::prepare(*packed, {picture.data(), 7, 10, 3, 21}, &out).ok());
  EXPECT_EQ(out.view.width, 5);
  EXPECT_EQ(out.view.height, 7);
}

TEST(Preprocess, AnAbsurdAspectIsRefusedWithTheSizes) {
  const Bytes picture(30000 * 3, 5);
  fbs::PreprocessT recipe;
  recipe.resize_mode = fbs::ResizeMode::ShortestEdge;
  recipe.resize_h = 256;
  const Recipe packed(recipe);
  image::Prepared out;
  const Status s = image::prepare(*packed, {picture.data(), 30000, 1, 3, 90000}, &out);
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
  ASSERT_TRUE(image::normalize(*Recipe(recipe), {rgb.data(), 1, 1, 3, 3}, out).ok());
  EXPECT_FLOAT_EQ(out[0], -1.0f);
  EXPECT_FLOAT_EQ(out[1], -0.05f);
  EXPECT_FLOAT_EQ(out[2], 0.5f);
  recipe.color = fbs::ColorOrder::BGR;
  ASSERT_TRUE(image::normalize(*Recipe(recipe), {rgb.data(), 1, 1, 3, 3}, out).ok());
  EXPECT_FLOAT_EQ(out[0], 1.0f);
  EXPECT_FLOAT_EQ(out[1], -0.05f);
  EXPECT_FLOAT_EQ(out[2], 0.0f);
}

TEST(Preprocess, WithoutMeansThePictureIsOnZeroToOne) {
  const Bytes rgb = {0, 51, 255};
  float out[3];
  ASSERT_TRUE(image::normalize(*Recipe(fbs::PreprocessT()), {rgb.data(), 1, 1, 3, 3}, out).ok());
  EXPECT_EQ(out[0], 0.0f);
  EXPECT_EQ(out[1], 51 / 255.0f);
  EXPECT_EQ(out[2], 1.0f);
}

TEST(Preprocess, MeansForAnotherNumberOfChannelsAreRefused) {
  const Bytes rgb = {0, 51, 255};
  fbs::PreprocessT recipe;
  recipe.mean = {0.5f};
  float out[3];
  EXPECT_EQ(image::normalize(*Recipe(recipe), {rgb.data(), 1, 1, 3, 3}, out).code(), FERRY_INVALID_ARGUMENT);
}

TEST(Tiles, CoverEveryPixelOnceWithTheirHaloOrThePicturesBorder) {
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

TEST(Tiles, APictureThatFitsIsNotCut) {
  EXPECT_EQ(image::TileAxis(100, 64, 18).count(), 1);
  EXPECT_EQ(image::TileAxis(101, 64, 18).count(), 2);
  EXPECT_EQ(image::TileAxis(101, 64, 18).extent(), 69);  // two of 69 overlapping by 2 halos (37), not 100 and 37
}

TEST(TopClasses, AreSortedAndEqualOnesKeepTheirOrder) {
  const float logits[] = {1, 3, 2, 3, -1};
  ferry_class top[3];
  image::top_classes(logits, 5, top, 3);
  EXPECT_EQ(top[0].index, 1);
  EXPECT_EQ(top[1].index, 3);
  EXPECT_EQ(top[2].index, 2);
}

TEST(TopClasses, ProbabilitiesAreTheSoftmaxOverAllClasses) {
  const float logits[] = {0, std::log(2.0f), std::log(5.0f)};
  ferry_class top[2];
  image::top_classes(logits, 3, top, 2);
  EXPECT_NEAR(top[0].probability, 5.0 / 8, 1e-6);
  EXPECT_NEAR(top[1].probability, 2.0 / 8, 1e-6);
}

TEST(TopClasses, HugeLogitsDoNotOverflow) {
  const float logits[] = {10000, 9999, -10000};
  ferry_class top[3];
  image::top_classes(logits, 3, top, 3);
  EXPECT_NEAR(top[0].probability, 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(top[2].probability, 0.0f);
}

TEST(TopClasses, NotANumberComesLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float logits[] = {nan, 1, nan, 2};
  ferry_class top[4];
  image::top_classes(logits, 4, top, 4);
  EXPECT_EQ(top[0].index, 3);
  EXPECT_EQ(top[1].index, 1);
  EXPECT_EQ(top[2].index, 0);
}

}  // namespace
}  // namespace ferry
