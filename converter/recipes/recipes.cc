#include "converter/recipes/recipes.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/recipes/filter.h"

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

fbs::PreprocessT blob_recipe(const ImageRecipe& image, int height, int width, const std::string& framework) {
  using Mode = fbs::ResizeMode;
  fbs::PreprocessT recipe;
  recipe.resize_h = static_cast<int>(std::floor(height / image.crop_pct));
  recipe.resize_w = static_cast<int>(std::floor(width / image.crop_pct));
  recipe.filter = image.filter;
  recipe.crop_h = height;
  recipe.crop_w = width;
  recipe.crop_floor = framework == "transformers";
  recipe.mean = image.mean;
  recipe.std = image.std;
  switch (image.crop_mode) {
    case CropMode::Center: recipe.resize_mode = height == width ? Mode::ShortestEdge : Mode::Cover; break;
    case CropMode::Squash: recipe.resize_mode = Mode::Exact; break;
    case CropMode::Border:
      recipe.resize_mode = Mode::Fit;
      // timm pads 8-bit images.
      for (const float mean : image.mean) recipe.fill.push_back(std::nearbyint(255 * mean) / 255);
      break;
    case CropMode::LeastScaling:
      recipe.resize_mode = Mode::LeastScaling;
      recipe.multiple_of = image.multiple_of;
      recipe.crop_h = recipe.crop_w = 0;
      break;
    case CropMode::ShortestEdge:
      recipe.resize_mode = Mode::ShortestEdge;
      recipe.resize_h = recipe.resize_w = std::min(height, width);
      recipe.crop_h = recipe.crop_w = 0;
      break;
    case CropMode::Corner:
      recipe.resize_mode = Mode::LongestEdge;
      recipe.resize_h = recipe.resize_w = std::max(height, width);
      recipe.corner = true;
      recipe.fill = image.mean;
      break;
  }
  return recipe;
}

void read_timm_config(const nlohmann::json& pretrained_cfg, ImageRecipe* image, int* height, int* width) {
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

bool fixed_size(const fbs::PreprocessT& recipe, int* height, int* width) {
  if (recipe.patch > 0 || (recipe.crop_h == 0 && recipe.resize_mode != fbs::ResizeMode::Exact)) return false;
  *height = recipe.crop_h > 0 ? recipe.crop_h : recipe.resize_h;
  *width = recipe.crop_h > 0 ? recipe.crop_w : recipe.resize_w;
  return true;
}

void change_size(fbs::PreprocessT* recipe, int height, int width) {
  int old_height = 0, old_width = 0;
  if (recipe->resize_mode == fbs::ResizeMode::LeastScaling && recipe->crop_h == 0) {
    recipe->resize_h = height;
    recipe->resize_w = width;
    return;
  }
  if (!fixed_size(*recipe, &old_height, &old_width) || (old_height == height && old_width == width)) return;
  const auto scaled = [](int resize, int old_side, int side) {
    return static_cast<int>(int64_t{resize} * side / old_side);
  };
  const int resize_h = scaled(recipe->resize_h, old_height, height);
  recipe->resize_w = scaled(recipe->resize_mode == fbs::ResizeMode::ShortestEdge ? recipe->resize_h : recipe->resize_w,
                            old_width, width);
  recipe->resize_h = resize_h;
  if (recipe->resize_mode == fbs::ResizeMode::ShortestEdge && height != width)
    recipe->resize_mode = fbs::ResizeMode::Cover;
  if (recipe->crop_h > 0) {
    recipe->crop_h = height;
    recipe->crop_w = width;
  }
}

void change_channels(fbs::PreprocessT* recipe, int channels) {
  recipe->mean = for_channels(recipe->mean, channels);
  recipe->std = for_channels(recipe->std, channels);
  recipe->fill = for_channels(recipe->fill, channels);
  if (channels == 1) recipe->color = fbs::ColorOrder::Gray;
}

}  // namespace ferry
