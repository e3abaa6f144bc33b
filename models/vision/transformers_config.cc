#include "models/vision/transformers_config.h"

#include <nlohmann/json.hpp>

#include "converter/error.h"

namespace ferry {

using nlohmann::json;

PictureVariant with_transformers_config(PictureVariant variant, const json& config) {
  try {
    if (config.contains("num_channels")) variant.in_chans = config["num_channels"];
    if (config.contains("layer_norm_eps")) variant.layer_norm_eps = config["layer_norm_eps"].get<double>();
    if (config.contains("image_size")) {
      const json& size = config["image_size"];
      variant.height = size.is_array() ? size.at(0) : size;
      variant.width = size.is_array() ? size.at(1) : size;
    }
  } catch (const json::exception& error) {
    fail("config.json: %s", error.what());
  }
  return variant;
}

std::optional<int> transformers_classes(const json& config, const PictureVariant& variant) {
  std::string model;
  if (config.contains("architectures") && config["architectures"].is_array() && !config["architectures"].empty() &&
      config["architectures"].front().is_string())
    model = config["architectures"].front();
  if (model.ends_with("Model")) return 0;
  if (config.contains("id2label")) return static_cast<int>(config["id2label"].size());
  if (model.ends_with("ForImageClassification")) return {};
  return variant.num_classes;
}

std::vector<std::string> transformers_labels(const json& config) {
  std::vector<std::string> labels;
  if (!config.contains("id2label")) return labels;
  const json& names = config["id2label"];
  bool telling = false;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto name = names.find(std::to_string(i));
    if (name == names.end() || !name->is_string())
      fail("config.json: id2label has %zu names but none for class %zu", names.size(), i);
    labels.push_back(name->get<std::string>());
    telling = telling || labels.back() != "LABEL_" + std::to_string(i);
  }
  return telling ? labels : std::vector<std::string>{};
}

}  // namespace ferry
