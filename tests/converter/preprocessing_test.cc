// The frameworks' configuration files as preprocessing. What it does to an image: tests/unit/image_resize_test.cc.
#include "converter/preprocessing/preprocessing.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

using nlohmann::json;
using Mode = fbs::ResizeMode;

fbs::PreprocessT timm(const json& config) {
  ImagePreprocessing image;
  int height = 0, width = 0;
  read_timm_config(config, &image, &height, &width);
  return blob_preprocessing(image, height, width, "timm");
}

void expect_resize(const fbs::PreprocessT& preprocess, Mode mode, int height, int width) {
  EXPECT_EQ(preprocess.resize_mode, mode);
  EXPECT_EQ(preprocess.resize_h, height);
  EXPECT_EQ(preprocess.resize_w, width);
}

void expect_crop(const fbs::PreprocessT& preprocess, int height, int width) {
  EXPECT_EQ(preprocess.crop_h, height);
  EXPECT_EQ(preprocess.crop_w, width);
}

TEST(TimmPreprocessing, CropModes) {
  json config = {{"input_size", {3, 192, 256}}, {"crop_pct", 0.9}, {"interpolation", "lanczos"}};
  expect_resize(timm(config), Mode::Cover, 213, 284);
  expect_crop(timm(config), 192, 256);
  EXPECT_EQ(timm(config).filter, fbs::Filter::Lanczos);
  EXPECT_FALSE(timm(config).crop_floor);
  config["crop_mode"] = "squash";
  expect_resize(timm(config), Mode::Exact, 213, 284);
  EXPECT_TRUE(timm(config).fill.empty());
  config["crop_mode"] = "border";
  config["mean"] = {0.485, 0.456, 0.5};
  expect_resize(timm(config), Mode::Fit, 213, 284);
  expect_crop(timm(config), 192, 256);
  EXPECT_EQ(timm(config).fill, (std::vector<float>{124 / 255.0f, 116 / 255.0f, 128 / 255.0f}));
  config["input_size"] = {3, 224, 224};
  config["crop_mode"] = "center";
  expect_resize(timm(config), Mode::ShortestEdge, 248, 248);
}

TEST(TimmPreprocessing, WhatTheConfigurationLeavesOutStays) {
  ImagePreprocessing image{.filter = fbs::Filter::Box, .crop_pct = 1.0};
  int height = 96, width = 64;
  read_timm_config({{"crop_mode", "squash"}}, &image, &height, &width);
  expect_resize(blob_preprocessing(image, height, width, "timm"), Mode::Exact, 96, 64);
  EXPECT_EQ(image.filter, fbs::Filter::Box);
}

TEST(TimmPreprocessing, RefusesWhatTimmDoesNotHave) {
  EXPECT_NE(complaint([] { timm({{"interpolation", "spline"}}); }).find("\"spline\""), std::string::npos);
  EXPECT_NE(complaint([] { timm({{"crop_mode", "corner"}}); }).find("\"corner\""), std::string::npos);
  EXPECT_NE(complaint([] {
              timm({{"input_size", {3, 224, 224}}, {"crop_pct", 0}});
            }).find("crop_pct is 0"),
            std::string::npos);
  EXPECT_TRUE(complaint([] { timm({{"input_size", "large"}}); }).starts_with("config.json: "));
}

// What a preprocessor_config.json says of levels, as most files have it.
json scaling() {
  return {{"image_mean", {0.5, 0.25, 0.5}}, {"image_std", {0.5, 0.5, 1.0}}, {"rescale_factor", 1 / 255.0}};
}

json with(json config, const json& more) {
  config.update(more);
  return config;
}

TEST(TransformersPreprocessing, ShorterEdgeAndCentreCrop) {
  const fbs::PreprocessT preprocess =
      transformers_preprocessing(with(scaling(), {{"image_processor_type", "BitImageProcessor"},
                                                  {"size", {{"shortest_edge", 256}}},
                                                  {"crop_size", {{"height", 224}, {"width", 208}}},
                                                  {"resample", 3}}));
  expect_resize(preprocess, Mode::ShortestEdge, 256, 256);
  expect_crop(preprocess, 224, 208);
  EXPECT_TRUE(preprocess.crop_floor);
  EXPECT_EQ(preprocess.filter, fbs::Filter::Bicubic);
  EXPECT_EQ(preprocess.mean, (std::vector<float>{0.5f, 0.25f, 0.5f}));
  EXPECT_EQ(preprocess.std, (std::vector<float>{0.5f, 0.5f, 1.0f}));
}

TEST(TransformersPreprocessing, FormerSpellings) {
  // google/vit-base-patch16-224 names no processor and has one number as size.
  expect_resize(transformers_preprocessing(with(scaling(), {{"size", 224}})), Mode::Exact, 224, 224);
  const fbs::PreprocessT resnet = transformers_preprocessing(with(
      scaling(),
      {{"feature_extractor_type", "ConvNextFeatureExtractor"}, {"size", 224}, {"crop_pct", 0.875}, {"resample", 3}}));
  expect_resize(resnet, Mode::ShortestEdge, 256, 256);
  expect_crop(resnet, 224, 224);
}

TEST(TransformersPreprocessing, ConvNextSquashesFrom384On) {
  const fbs::PreprocessT preprocess = transformers_preprocessing(
      with(scaling(), {{"image_processor_type", "ConvNextImageProcessorFast"}, {"size", {{"shortest_edge", 384}}}}));
  expect_resize(preprocess, Mode::Exact, 384, 384);
  expect_crop(preprocess, 0, 0);
}

TEST(TransformersPreprocessing, OtherScalesGoIntoMeanAndDeviation) {
  // (level / 127.5 - 1) / 1 is (level / 255 - 0.5) / 0.5.
  json config = {{"size", 224}, {"image_mean", {1, 1, 1}}, {"image_std", {1, 1, 1}}, {"rescale_factor", 1 / 127.5}};
  fbs::PreprocessT preprocess = transformers_preprocessing(config);
  EXPECT_FLOAT_EQ(preprocess.mean[0], 0.5f);
  EXPECT_FLOAT_EQ(preprocess.std[0], 0.5f);
  config["do_normalize"] = config["do_rescale"] = false;  // levels as they are
  preprocess = transformers_preprocessing(config);
  EXPECT_FLOAT_EQ(preprocess.mean[0], 0.0f);
  EXPECT_FLOAT_EQ(preprocess.std[0], 1 / 255.0f);
}

TEST(TransformersPreprocessing, PaddingIsTheMeanAtTheRightAndBelow) {
  const fbs::PreprocessT preprocess =
      transformers_preprocessing(with(scaling(), {{"image_processor_type", "SamImageProcessor"},
                                                  {"size", {{"longest_edge", 1024}}},
                                                  {"do_pad", true},
                                                  {"pad_size", {{"height", 1024}, {"width", 1024}}}}));
  expect_resize(preprocess, Mode::LongestEdge, 1024, 1024);
  expect_crop(preprocess, 1024, 1024);
  EXPECT_TRUE(preprocess.corner);
  EXPECT_EQ(preprocess.fill, preprocess.mean);
}

TEST(TransformersPreprocessing, RefusesWhatItDoesNotKnow) {
  EXPECT_NE(complaint([] {
              transformers_preprocessing({{"image_processor_type", "LevitImageProcessor"}});
            }).find("\"LevitImageProcessor\" is not an image processor known here"),
            std::string::npos);
  EXPECT_NE(complaint([] {
              transformers_preprocessing(with(scaling(), {{"size", {{"max_height", 9}}}}));
            }).find("max_height"),
            std::string::npos);
  EXPECT_NE(complaint([] {
              transformers_preprocessing(with(scaling(), {{"size", 9}, {"resample", 6}}));
            }).find("resample is 6"),
            std::string::npos);
  EXPECT_NE(complaint([] {
              transformers_preprocessing(with(scaling(), {{"size", 9}, {"do_pad", true}}));
            }).find("do_pad"),
            std::string::npos);
  EXPECT_NE(complaint([] { transformers_preprocessing({{"size", 224}}); }).find("image_mean"), std::string::npos);
}

TEST(Preprocessing, AnotherSizeKeepsTheShareThatIsCutOff) {
  ImagePreprocessing image{.crop_pct = 0.875};
  fbs::PreprocessT preprocess = blob_preprocessing(image, 224, 224, "transformers");
  int height = 0, width = 0;
  ASSERT_TRUE(fixed_size(preprocess, &height, &width));
  EXPECT_EQ(height, 224);
  change_size(&preprocess, 448, 336);
  expect_resize(preprocess, Mode::Cover, 512, 384);
  expect_crop(preprocess, 448, 336);
  preprocess = transformers_preprocessing(with(scaling(), {{"size", 224}}));
  change_size(&preprocess, 96, 160);
  expect_resize(preprocess, Mode::Exact, 96, 160);
}

TEST(TransformersPreprocessing, ReadsDepthAnythingsAndSegformers) {
  fbs::PreprocessT depth = transformers_preprocessing(with(scaling(), {{"image_processor_type", "DPTImageProcessor"},
                                                                       {"size", {{"height", 518}, {"width", 518}}},
                                                                       {"keep_aspect_ratio", true},
                                                                       {"ensure_multiple_of", 14}}));
  expect_resize(depth, Mode::LeastScaling, 518, 518);
  expect_crop(depth, 0, 0);
  EXPECT_EQ(depth.multiple_of, 14);
  int height = 0, width = 0;
  EXPECT_FALSE(fixed_size(depth, &height, &width));
  change_size(&depth, 252, 336);
  expect_resize(depth, Mode::LeastScaling, 252, 336);

  ImagePreprocessing image{.crop_pct = 1, .crop_mode = CropMode::LeastScaling, .multiple_of = 14};
  const fbs::PreprocessT own = blob_preprocessing(image, 518, 518, "transformers");
  expect_resize(own, Mode::LeastScaling, 518, 518);
  expect_crop(own, 0, 0);
  EXPECT_EQ(own.multiple_of, 14);

  for (const char* key : {"feature_extractor_type", "image_processor_type"}) {
    const bool former = key[0] == 'f';
    const fbs::PreprocessT places = transformers_preprocessing(
        with(scaling(), {{key, former ? "SegformerFeatureExtractor" : "SegformerImageProcessor"},
                         {"size", 512},
                         {"reduce_labels", true}}));
    expect_resize(places, Mode::Exact, 512, 512);
    EXPECT_EQ(places.filter, fbs::Filter::Bilinear);
  }
}

TEST(Preprocessing, APixelBudgetHasNoSizeOfItsOwn) {
  int height = 0, width = 0;
  EXPECT_FALSE(
      fixed_size(transformers_preprocessing(with(scaling(), {{"image_processor_type", "Qwen2VLImageProcessor"}})),
                 &height, &width));
}

}  // namespace
}  // namespace ferry
