#include "converter/preprocessing/preprocessing.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/preprocessing/filter.h"

namespace ferry {
namespace {

std::vector<float> for_channels(const std::vector<float>& values, int channels) {
  if (values.empty()) return {};
  if (channels == 1) return {std::accumulate(values.begin(), values.end(), 0.0f) / static_cast<float>(values.size())};
  std::vector<float> out;
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) out.push_back(values[c % values.size()]);
  return out;
}

CropMode crop_mode_named(const std::string& name) {
  if (name == "center") return CropMode::Center;
  if (name == "squash") return CropMode::Squash;
  if (name == "border") return CropMode::Border;
  fail("config.json: the crop_mode %s is none of center, squash, border", in_quotes(name).c_str());
}

}  // namespace

fbs::Filter filter_named(const std::string& name, const std::string& where) {
  for (const fbs::Filter filter : fbs::EnumValuesFilter()) {
    std::string known = EnumNameFilter(filter);
    known[0] = static_cast<char>(known[0] - 'A' + 'a');
    if (name == known) return filter;
  }
  fail("%s %s is none of nearest, box, bilinear, hamming, bicubic, lanczos", where.c_str(), in_quotes(name).c_str());
}

fbs::PreprocessT blob_preprocessing(const ImagePreprocessing& image, int height, int width,
                                    const std::string& framework) {
  using Mode = fbs::ResizeMode;
  fbs::PreprocessT preprocess;
  preprocess.resize_h = static_cast<int>(std::floor(height / image.crop_pct));
  preprocess.resize_w = static_cast<int>(std::floor(width / image.crop_pct));
  preprocess.filter = image.filter;
  preprocess.crop_h = height;
  preprocess.crop_w = width;
  preprocess.crop_floor = framework == "transformers";
  preprocess.mean = image.mean;
  preprocess.std = image.std;
  switch (image.crop_mode) {
    case CropMode::Center: preprocess.resize_mode = height == width ? Mode::ShortestEdge : Mode::Cover; break;
    case CropMode::Squash: preprocess.resize_mode = Mode::Exact; break;
    case CropMode::Border:
      preprocess.resize_mode = Mode::Fit;
      // timm pads 8-bit images.
      for (const float mean : image.mean) preprocess.fill.push_back(std::nearbyint(255 * mean) / 255);
      break;
    case CropMode::LeastScaling:
      preprocess.resize_mode = Mode::LeastScaling;
      preprocess.multiple_of = image.multiple_of;
      preprocess.crop_h = preprocess.crop_w = 0;
      break;
    case CropMode::ShortestEdge:
      preprocess.resize_mode = Mode::ShortestEdge;
      preprocess.resize_h = preprocess.resize_w = std::min(height, width);
      preprocess.crop_h = preprocess.crop_w = 0;
      break;
    case CropMode::Corner:
      preprocess.resize_mode = Mode::LongestEdge;
      preprocess.resize_h = preprocess.resize_w = std::max(height, width);
      preprocess.corner = true;
      preprocess.fill = image.mean;
      break;
  }
  return preprocess;
}

void read_timm_config(const nlohmann::json& pretrained_cfg, ImagePreprocessing* image, int* height, int* width) {
  const nlohmann::json& config = pretrained_cfg;
  try {
    if (config.contains("input_size")) {
      const auto size = config["input_size"].get<std::vector<int>>();
      if (size.size() != 3) fail("config.json: input_size has %zu numbers, expected 3", size.size());
      if (size[1] < 1 || size[2] < 1) fail("config.json: an input_size of %d by %d pixels", size[1], size[2]);
      *height = size[1];
      *width = size[2];
    }
    if (config.contains("interpolation"))
      image->filter = filter_named(config["interpolation"], "config.json: the interpolation");
    if (config.contains("crop_mode")) image->crop_mode = crop_mode_named(config["crop_mode"]);
    image->crop_pct = config.value("crop_pct", image->crop_pct);
    if (!(image->crop_pct > 0.01 && image->crop_pct <= 2)) fail("config.json: crop_pct is %g", image->crop_pct);
    image->mean = config.value("mean", image->mean);
    image->std = config.value("std", image->std);
    if (image->mean.empty() || image->std.size() != image->mean.size())
      fail("config.json: mean has %zu numbers and std %zu", image->mean.size(), image->std.size());
  } catch (const nlohmann::json::exception& error) {
    fail("config.json: %s", error.what());
  }
}

bool fixed_size(const fbs::PreprocessT& preprocess, int* height, int* width) {
  if (preprocess.patch > 0 || (preprocess.crop_h == 0 && preprocess.resize_mode != fbs::ResizeMode::Exact))
    return false;
  *height = preprocess.crop_h > 0 ? preprocess.crop_h : preprocess.resize_h;
  *width = preprocess.crop_h > 0 ? preprocess.crop_w : preprocess.resize_w;
  return true;
}

void change_size(fbs::PreprocessT* preprocess, int height, int width) {
  int old_height = 0, old_width = 0;
  if (preprocess->resize_mode == fbs::ResizeMode::LeastScaling && preprocess->crop_h == 0) {
    preprocess->resize_h = height;
    preprocess->resize_w = width;
    return;
  }
  if (!fixed_size(*preprocess, &old_height, &old_width) || (old_height == height && old_width == width)) return;
  const auto scaled = [](int resize, int old_side, int side) {
    return static_cast<int>(int64_t{resize} * side / old_side);
  };
  const int resize_h = scaled(preprocess->resize_h, old_height, height);
  preprocess->resize_w =
      scaled(preprocess->resize_mode == fbs::ResizeMode::ShortestEdge ? preprocess->resize_h : preprocess->resize_w,
             old_width, width);
  preprocess->resize_h = resize_h;
  if (preprocess->resize_mode == fbs::ResizeMode::ShortestEdge && height != width)
    preprocess->resize_mode = fbs::ResizeMode::Cover;
  if (preprocess->crop_h > 0) {
    preprocess->crop_h = height;
    preprocess->crop_w = width;
  }
}

void change_channels(fbs::PreprocessT* preprocess, int channels) {
  preprocess->mean = for_channels(preprocess->mean, channels);
  preprocess->std = for_channels(preprocess->std, channels);
  preprocess->fill = for_channels(preprocess->fill, channels);
  if (channels == 1) preprocess->color = fbs::ColorOrder::Gray;
}

}  // namespace ferry
