#include "converter/timm_config.h"

#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry {
namespace {

using nlohmann::json;

fbs::Filter filter_named(const std::string& name) {
  if (name == "nearest") return fbs::Filter::Nearest;
  if (name == "box") return fbs::Filter::Box;
  if (name == "bilinear") return fbs::Filter::Bilinear;
  if (name == "hamming") return fbs::Filter::Hamming;
  if (name == "bicubic") return fbs::Filter::Bicubic;
  if (name == "lanczos") return fbs::Filter::Lanczos;
  fail("config.json: the interpolation %s is none of nearest, box, bilinear, hamming, bicubic, lanczos",
       in_quotes(name).c_str());
}

}  // namespace

bool is_timm_config(const json& config) {
  return config.is_object() && config.contains("architecture") && config["architecture"].is_string();
}

Variant with_timm_config(Variant variant, const json& config) {
  try {
    const json pretrained = config.value("pretrained_cfg", json::object());
    if (const std::string tag = pretrained.value("tag", ""); tag != variant.tag && pretrained.contains("tag")) {
      variant.tag = tag;
      variant.hub.clear();
    }
    const int classes = config.value("num_classes", pretrained.value("num_classes", variant.num_classes));
    if (classes < 0) fail("config.json: num_classes is %d", classes);
    variant.imagenet_labels = variant.imagenet_labels && classes == variant.num_classes;
    variant.num_classes = classes;
    if (pretrained.contains("input_size")) {
      const auto size = pretrained["input_size"].get<std::vector<int>>();
      if (size.size() != 3) fail("config.json: input_size has %zu numbers, expected 3", size.size());
      variant.in_chans = size[0];
      variant.height = size[1];
      variant.width = size[2];
    }
    PictureRecipe& picture = variant.picture;
    if (pretrained.contains("interpolation"))
      picture.filter = filter_named(pretrained["interpolation"].get<std::string>());
    picture.crop_pct = pretrained.value("crop_pct", picture.crop_pct);
    if (!(picture.crop_pct > 0 && picture.crop_pct <= 2)) fail("config.json: crop_pct is %g", picture.crop_pct);
    picture.mean = pretrained.value("mean", picture.mean);
    picture.std = pretrained.value("std", picture.std);
    if (picture.mean.empty() || picture.std.size() != picture.mean.size())
      fail("config.json: mean has %zu numbers and std %zu", picture.mean.size(), picture.std.size());
  } catch (const json::exception& error) {
    fail("config.json: %s", error.what());
  }
  return variant;
}

std::vector<std::string> timm_labels(const json& config) {
  try {
    if (!config.contains("label_names") || !config["label_names"].is_array()) return {};
    auto labels = config["label_names"].get<std::vector<std::string>>();
    // ImageNet's names are WordNet's ids there; the descriptions say what they are.
    const json descriptions = config.value("label_descriptions", json());
    if (descriptions.is_object())
      for (std::string& label : labels) label = descriptions.value(label, label);
    return labels;
  } catch (const json::exception& error) {
    fail("config.json: %s", error.what());
  }
}

}  // namespace ferry
