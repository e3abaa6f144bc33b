#include "models/vision/timm_config.h"

#include <nlohmann/json.hpp>

#include "converter/error.h"

namespace ferry {

using nlohmann::json;

bool is_timm_config(const json& config) {
  return config.is_object() && config.contains("architecture") && config["architecture"].is_string();
}

ImageVariant with_timm_config(ImageVariant variant, const json& config) {
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
    if (pretrained.contains("input_size")) variant.in_chans = pretrained["input_size"].at(0);
    read_timm_config(pretrained, &variant.image, &variant.height, &variant.width);
  } catch (const json::exception& error) {
    fail("config.json: %s", error.what());
  }
  return variant;
}

std::vector<std::string> timm_labels(const json& config) {
  try {
    if (!config.contains("label_names") || !config["label_names"].is_array()) return {};
    auto labels = config["label_names"].get<std::vector<std::string>>();
    // For ImageNet, label_names are WordNet ids; label_descriptions have the words.
    const json descriptions = config.value("label_descriptions", json());
    if (descriptions.is_object())
      for (std::string& label : labels) label = descriptions.value(label, label);
    return labels;
  } catch (const json::exception& error) {
    fail("config.json: %s", error.what());
  }
}

}  // namespace ferry
